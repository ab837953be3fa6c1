import { changeUntil, LEASE } from '../../model/changes.ts';
import { type Clock, epochMs, isoAfter } from '../../model/time.ts';
import { countsOf, sentBatches } from '../accounting/counts.ts';
import { type Batch, batchId } from '../model/batch.ts';
import { BULK_EMAIL_SEND_FAILED, type Email } from '../model/email.ts';
import type { PrepareMessage, SendMessage } from '../model/email-message.ts';
import { type JobLimits, storageOf } from '../model/job-limits.ts';
import type { BatchStore, Change, EmailStore, JobLog, NewsletterQueues } from '../model/ports.ts';
import { faultOf, holdSentence } from './holds.ts';
import { type DoneSlot, planBatchSlots, withNextAt } from './plan-slots.ts';

export interface AdvanceDeps {
  readonly emails: Pick<EmailStore, 'read' | 'change'>;
  readonly batches: Pick<BatchStore, 'read' | 'list' | 'from'>;
  readonly queues: NewsletterQueues;
  readonly clock: Clock;
  readonly limits: JobLimits;
  readonly log: JobLog;
}

/** What is to be done for an email: a change of its row, and the messages to send once it is made. */
interface Plan {
  readonly change: Change<Email>;
  readonly start?: boolean;
  readonly given: Readonly<Record<string, string>>;
  /** Work that nobody did is given out again. */
  readonly stalled?: boolean;
}

/** Batches to look at from the hint on, before all are read. */
const LOOK_AHEAD = 10;

/**
 * The one state machine of an email (docs/decisions/newsletters/job.md#0100). Every trigger calls it: the API, a
 * schedule, the end of a batch, the clock. It reads the row, decides what is next, changes the row with its version,
 * and sends the messages then. A message that is lost is sent again by the clock.
 */
export async function advance(email_id: string, deps: AdvanceDeps, done?: DoneSlot): Promise<Email | undefined> {
  const { row, plan, changed } = await changeUntil(
    () => deps.emails.read(email_id),
    (email) => planFor(email, deps, done),
    (email, { change }) => deps.emails.change(email, change),
  );
  if (changed === undefined) return row;
  if (plan.stalled) deps.log.count?.('stalled');
  await sendMessages(changed, plan, deps);
  reportHold(changed, row, deps);
  if (changed.status !== 'submitting' && row.status === 'submitting') report(changed, row, deps);
  return changed;
}

/** Frees the slot of a batch and gives it to the next one. The clock does it where this fails. */
export function passOn(
  done: DoneSlot,
  email_id: string,
  deps: AdvanceDeps & Parameters<typeof storageOf>[0],
): Promise<unknown> {
  return storageOf(deps)('free a slot', () => advance(email_id, deps, done));
}

async function planFor(email: Email, deps: AdvanceDeps, done: DoneSlot | undefined): Promise<Plan | undefined> {
  const { clock, limits } = deps;
  const now = clock();
  if (email.status === 'pending') return planStart(email, now, limits);
  if (email.status !== 'submitting') return email.next_at === undefined ? undefined : idle();
  if (email.prepared === undefined) return planStart(email, now, limits);
  return planSending(email, deps, done);
}

/** A scheduled email whose time has come, or a preparation whose holder has crashed, is started by a message. */
function planStart(email: Email, now: Date, { message_ms }: JobLimits): Plan | undefined {
  const at = now.toISOString();
  if (email.status === 'pending' && email.paused) return email.next_at === undefined ? undefined : idle();
  const due =
    email.status === 'pending'
      ? (email.next_at ?? email.scheduled_at ?? at)
      : (email.claim_until ?? email.next_at ?? at);
  // The clock found it in the index: whoever was to start it did not.
  if (due > at) return email.next_at === due ? undefined : { change: withNextAt({}, due), given: {} };
  const stalled = email.status === 'submitting';
  return { change: withNextAt({}, isoAfter(now, message_ms)), start: true, given: {}, stalled };
}

async function planSending(email: Email, deps: AdvanceDeps, done: DoneSlot | undefined): Promise<Plan> {
  const { batches, clock, limits } = deps;
  const { email_id } = email;
  const occupied = await Promise.all(
    Object.entries(email.slots).map(
      async ([slot, { batch_id }]) => [slot, await batches.read(email_id, batch_id)] as const,
    ),
  );
  const slots = { inSlots: new Map(occupied), now: clock(), limits, ...(done && { done }) };
  const ahead = await batches.from(email_id, batchId(email.next_batch ?? 0), LOOK_AHEAD);
  // The pace of a window depends on how many are left, so it needs them all; whether everybody is refused all can show.
  const needsAll = email.delivery_deadline !== undefined || email.hold !== undefined;
  const quick = needsAll ? undefined : planBatchSlots(email, ahead, slots);
  if (quick !== undefined && (quick.full || Object.keys(quick.given).length > 0)) return quick;
  const all = await batches.list(email_id);
  const plan = planBatchSlots(email, all, slots);
  return plan.idle ? { change: endOf(email, all, clock()), given: {} } : plan;
}

async function sendMessages(email: Email, plan: Plan, { queues }: AdvanceDeps): Promise<void> {
  const { email_id } = email;
  if (plan.start) await queues.prepare({ version: 1, kind: 'start', email_id } satisfies PrepareMessage);
  for (const [slot, batch_id] of Object.entries(plan.given)) {
    await queues.send({ version: 1, kind: 'batch', email_id, batch_id, slot } satisfies SendMessage);
  }
}

/** An email is sent again after a decision about uncertain recipients: those who had failed before ring once. */
function report({ email_id, status, error, failed_recipients = 0 }: Email, before: Email, { log }: AdvanceDeps): void {
  const failed = failed_recipients > (before.failed_recipients ?? 0);
  if (status === 'failed' || failed) log.count?.('failed');
  if (status === 'failed') log.error(`Email ${email_id} failed: ${error}`, { email_id });
  else if (failed) {
    log.error(`Email ${email_id} is ${status}, but the provider refused recipients for good`, {
      email_id,
      failed_recipients,
    });
  } else log.info(`Email ${email_id} is ${status}`, { email_id });
}

/** What an operator has to mend rings once, however often it is asked again. */
export function reportHold(
  { email_id, hold }: Email,
  before: Pick<Email, 'hold'>,
  { log }: { readonly log: Pick<JobLog, 'info' | 'error' | 'count'> },
): void {
  if (hold === undefined || hold.for === before.hold?.for) return;
  const { message, ask_at } = hold;
  // `message` is the log's own field, and would be dropped.
  const fields = { email_id, holds_for: hold.for, ask_at, said: message };
  const line = `Email ${email_id} holds: ${holdSentence(hold)}`;
  if (faultOf(hold) === undefined) log.info(line, fields);
  else {
    log.count?.('failed');
    log.error(line, fields);
  }
}

const idle = (): Plan => ({ change: withNextAt({}, undefined), given: {} });

/**
 * The end of a sending: submitted when nothing is left that `retry` would send, whatever became of single recipients.
 * Otherwise failed, and the failed batches can be sent again (障害時対応). Cancelled where an operator ended it.
 */
export function endOf(email: Email, batches: readonly Batch[], now: Date): Change<Email> {
  const failed = sentBatches(batches).filter(({ status }) => status === 'failed');
  const waited = ['next_batch', 'next_batch_at', 'hold', 'refusals', 'silence', 'hung_at'] as const;
  const counts = countsOf(email, batches);
  const over = [...LEASE, ...waited, ...(counts.failed > 0 ? [] : (['failed_recipients'] as const))] as const;
  const failed_recipients = counts.failed > 0 && { failed_recipients: counts.failed };
  const ended = { paused: false, slots: {}, ended_counts: { ...counts }, ...failed_recipients } as const;
  if (email.cancelled_at !== undefined)
    return withNextAt({ ...ended, status: 'cancelled' }, undefined, [...over, 'error', 'error_code']);
  if (failed.length === 0) {
    const set = { ...ended, status: 'submitted', submitted_at: email.submitted_at ?? now.toISOString() } as const;
    return withNextAt(set, undefined, [...over, 'error', 'error_code']);
  }
  const { recipients, submitted, uncertain, pending } = counts;
  const cause = failed[0]?.error_message ?? 'The provider refused it.';
  // Mails of calls that were not answered may have been sent.
  const extent = submitted + uncertain > 0 ? 'The email was partially sent' : 'The email was not sent';
  const error =
    `${extent}: ${pending} of ${recipients} recipients in ${failed.length} ${failed.length === 1 ? 'batch' : 'batches'} ` +
    `were not sent. ${cause} Mend the cause, then retry the email: only what is missing is sent.`;
  return withNextAt({ ...ended, status: 'failed', error, error_code: BULK_EMAIL_SEND_FAILED }, undefined, over);
}

/**
 * Lets the sending of an email go on after one of its batches has something to send again: a refusal that was recorded
 * late, or an operator who resends. The row is changed in any case, so that an end that was decided before the change of
 * the batch does not happen. A failed email waits for `retry`.
 */
export async function reopen(email_id: string, deps: AdvanceDeps): Promise<void> {
  if (await markOpen(email_id, deps, 0)) await advance(email_id, deps);
}

/** @param wait_ms until the clock looks at the email */
export async function markOpen(
  email_id: string,
  { emails, clock }: Pick<AdvanceDeps, 'emails' | 'clock'>,
  wait_ms: number,
): Promise<boolean> {
  const reopened = ({ status, prepared }: Email) => {
    // A cancelled one excludes who turns up; one that was cancelled before its recipients were frozen has none.
    const open = status === 'cancelled' ? prepared !== undefined : status !== 'failed' && status !== 'pending';
    return open ? withNextAt({ status: 'submitting' }, isoAfter(clock(), wait_ms)) : undefined;
  };
  const { changed } = await changeUntil(() => emails.read(email_id), reopened, emails.change);
  return changed !== undefined;
}

export interface ClockDeps extends AdvanceDeps {
  readonly emails: AdvanceDeps['emails'] & Pick<EmailStore, 'due'>;
}

/** Emails that one run of the clock looks at. */
const MOST = 200;
/** From one run of the clock to the next, with room for a late one. */
const AHEAD_MS = 90_000;

/**
 * Runs each minute: whatever got lost (a schedule, a message, a sender, a preparation) leaves its email in the active
 * index past its time. One email that fails does not hold up the others. What is scheduled before the next run is started
 * by a message that SQS delays, to the second: commands make no schedules, which take rights that no operator needs.
 */
export async function runClock(deps: ClockDeps): Promise<{ readonly advanced: number; readonly failed: number }> {
  const { clock, emails, queues } = deps;
  let failed = 0;
  const now = clock();
  const at = now.toISOString();
  const found = await emails.due(isoAfter(now, AHEAD_MS), MOST);
  for (const { email_id, status, paused, next_at = at, scheduled_at } of found) {
    try {
      if (next_at <= at) await advance(email_id, deps);
      else if (status === 'pending' && !paused && scheduled_at === next_at) {
        const delay = Math.ceil((epochMs(next_at) - now.getTime()) / 1000);
        await queues.prepare({ version: 1, kind: 'start', email_id }, delay);
      }
    } catch (error) {
      failed += 1;
      const name = error instanceof Error ? error.name : 'unknown error';
      deps.log.warn(`Email ${email_id} could not be advanced`, { email_id, error: name });
    }
  }
  return { advanced: found.filter(({ next_at = at }) => next_at <= at).length - failed, failed };
}
