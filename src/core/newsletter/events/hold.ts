import { changeUntil } from '../../model/changes.ts';
import { sentBatches } from '../accounting/counts.ts';
import type { Batch } from '../model/batch.ts';
import { type BatchEvents, countBits } from '../model/batch-events.ts';
import { type Email, type Held, pausedItselfSentence } from '../model/email.ts';
import type { BatchStore, EmailStore, EventStore, JobLog } from '../model/ports.ts';

export interface HoldDeps {
  readonly emails: Pick<EmailStore, 'read' | 'change'>;
  readonly batches: Pick<BatchStore, 'list'>;
  readonly events: Pick<EventStore, 'list'>;
  readonly log?: Pick<JobLog, 'info' | 'error' | 'count'>;
}

/**
 * The share of the sent mails above which an email pauses itself. SES reviews accounts from 5 % of bounces on; Gmail and
 * Yahoo never want more than 0.3 % of complaints.
 */
const LIMITS = { bounced: 0.05, complained: 0.003 } as const;
const REASONS = ['bounced', 'complained'] as const;
/** Fewer say too little about a list. */
const LEAST_SENT = 500;

/**
 * Pauses an email of which too many mails bounced for good or were complained about, and says why. It does so once: an
 * operator who resumes it has decided. The sums of all batches are read only where the batch of the events passes half
 * a limit itself, so that healthy emails pay for one look at their row now and then.
 */
export async function pauseIfBad(batch: Batch, bits: BatchEvents['bits'], at: string, deps: HoldDeps): Promise<void> {
  const here = { bounced: countBits(bits.bounced), complained: countBits(bits.complained) };
  if (passed(batch.counts.submitted, here, 0.5, 0) === undefined) return;
  const { email_id } = batch;
  const email = await deps.emails.read(email_id);
  if (email === undefined || !mayPause(email)) return;
  const [batches, events] = await Promise.all([deps.batches.list(email_id), deps.events.list(email_id)]);
  const sent = sentBatches(batches).reduce((sum, { counts }) => sum + counts.submitted, 0);
  const all = { bounced: 0, complained: 0 };
  for (const { bits: some } of events) {
    all.bounced += countBits(some.bounced);
    all.complained += countBits(some.complained);
  }
  const reason = passed(sent, all, 1, LEAST_SENT);
  if (reason === undefined) return;
  const held: Held = { reason, count: all[reason], sent, limit: LIMITS[reason], at };
  const paused = (found: Email) => (mayPause(found) ? { set: { paused: true, held } } : undefined);
  const { changed } = await changeUntil(() => deps.emails.read(email_id), paused, deps.emails.change, { from: email });
  if (changed === undefined) return;
  deps.log?.count?.('failed');
  deps.log?.error(`Email ${email_id} paused itself: ${pausedItselfSentence(held)}`, { email_id, ...held });
}

function mayPause({ status, paused, held, cancelled_at }: Email): boolean {
  return status === 'submitting' && !paused && held === undefined && cancelled_at === undefined;
}

/** The reason whose count is above `share` of its limit, once at least `least` mails were sent. */
function passed(sent: number, counts: Readonly<Record<Held['reason'], number>>, share: number, least: number) {
  // A sender's counts may be older than the first events of its mails.
  return REASONS.find((reason) => sent >= least && counts[reason] > share * LIMITS[reason] * sent);
}
