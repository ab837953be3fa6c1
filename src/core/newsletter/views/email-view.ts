import { defined } from '../../model/collections.ts';
import { countsOf, reasonsOf, sentBatches, throughputOf } from '../accounting/counts.ts';
import { faultOf, holdSentence, stopsAll } from '../lifecycle/holds.ts';
import type { Resolved } from '../lifecycle/resolve.ts';
import { BATCH_STATUSES, type Batch, type BatchStatus } from '../model/batch.ts';
import { type BatchEvents, countBits, EVENT_KINDS, type EventKind } from '../model/batch-events.ts';
import { type Email, FAULT_HOLDS, type Held, pausedItselfSentence } from '../model/email.ts';

/**
 * What an email is doing: `scheduled` and `queued` before its job begins, `cancelling` until everybody who is left is
 * excluded, `waiting` for its delivery window or for the
 * provider's allowance.
 */
export const EMAIL_PHASES = [
  'scheduled',
  'queued',
  'preparing',
  'sending',
  'cancelling',
  'waiting',
  'paused',
  'submitted',
  'failed',
  'cancelled',
] as const;
export type EmailPhase = (typeof EMAIL_PHASES)[number];

/** An email without what its batches tell: the answer of lists. */
type EmailSummary = ReturnType<typeof emailSummary>;
/** Rates are absent while nothing is submitted, and for large emails, whose status tells. */
export type ListedEmail = EmailSummary & ReturnType<typeof ratesOf>;
export type EmailView = ReturnType<typeof emailView>;

/**
 * `retry`: SES refused; `silence`: it answers no call; `window`: the pace of the delivery window; `allowance`: rate or
 * quota; the others: what an operator or AWS has to mend (FAULT_HOLDS).
 */
export const WAITS = ['retry', 'silence', 'window', 'allowance', ...FAULT_HOLDS] as const;
export interface Waits {
  readonly for: (typeof WAITS)[number];
  /** When it goes on, as far as anybody can tell: at the latest it asks again then. */
  readonly until: string;
  /** When it asks whether it may go on; absent where it just goes on. */
  readonly asks_at?: string;
  /** Why, for people. */
  readonly message?: string;
}

export interface EmailRows {
  readonly email: Email;
  readonly batches: readonly Batch[];
  readonly events: readonly BatchEvents[];
}

export function emailSummary(email: Email, now: Date) {
  const { email_id, newsletter_id, subject, status, segment, scheduled_at, delivery_window_minutes } = email;
  const { submitted_at, error, error_code, created_at } = email;
  return defined({
    email_id,
    newsletter_id,
    subject,
    status,
    phase: emailPhaseOf(email, now),
    // Whom it would be sent to: as the count found, then as the preparation froze; null until it is counted.
    email_count: email.email_count ?? null,
    segment,
    scheduled_at,
    delivery_window_minutes,
    submitted_at,
    error,
    error_code,
    // Why the email paused itself; absent once an operator has resumed it.
    held: email.paused && email.held !== undefined ? shownHeld(email.held) : undefined,
    created_at,
  });
}

function shownHeld(held: Held) {
  const { reason, count, sent, at } = held;
  return { reason, count, sent, at, message: pausedItselfSentence(held) };
}

/** The status of an email: its states are sums of the batches' counts, its events are sums of bits. */
export function emailView({ email, batches, events }: EmailRows, now: Date, allowed: number | undefined) {
  const sent = sentBatches(batches);
  const { recipients, ...states } = countsOf(email, batches);
  const rate = emailPhaseOf(email, now) === 'sending' ? throughputOf(sent, now) : undefined;
  return defined({
    ...emailSummary(email, now),
    counts: { recipients, ...states, ...eventCounts(events) },
    uncertain_left: sent.reduce((sum, { uncertain_left = 0 }) => sum + uncertain_left, 0),
    excluded_by_reason: email.prepared === undefined ? {} : reasonsOf(batches, 'excluded_by_reason'),
    failed_by_reason: reasonsOf(batches, 'failed_by_reason'),
    batches: batchCounts(email.prepared === undefined ? [] : sent),
    // Recipients per second: of the last minute, and what the provider allows; null: not known.
    rate: { now: rounded(rate), allowed: rounded(allowed) },
    eta: etaOf(email, states.pending, rate, now),
    waits: waitsOf(email, sent, now),
  });
}

function waitsOf(email: Email, batches: readonly Batch[], now: Date): Waits | undefined {
  if (emailPhaseOf(email, now) !== 'waiting') return undefined;
  const at = now.toISOString();
  const { silence, hold, next_at = at } = email;
  if (silence?.until !== undefined) return { for: 'silence', until: silence.until, asks_at: silence.until };
  if (hold !== undefined) {
    const { ask_at, until = ask_at } = hold;
    return { for: faultOf(hold) ?? 'allowance', until, asks_at: ask_at, message: holdSentence(hold) };
  }
  const tried = batches.filter(
    ({ provider_failures = 0, not_before = '' }) => provider_failures > 0 && not_before > at,
  );
  const [retry_at] = tried.flatMap(({ not_before }) => not_before ?? []).sort();
  if (retry_at !== undefined) return { for: 'retry', until: retry_at };
  const pace = paceOf(email);
  return pace > at ? { for: 'window', until: pace } : { for: 'allowance', until: next_at };
}

export function ratesOf({ counts: { submitted, delivered, opened, clicked, bounced } }: Pick<EmailView, 'counts'>) {
  const share = (count: number) => count / submitted;
  const rates = {
    delivered: share(delivered),
    opened: share(opened),
    clicked: share(clicked),
    bounced: share(bounced),
  };
  return defined({ rates: submitted === 0 ? undefined : rates });
}

export function emailPhaseOf(email: Email, now: Date): EmailPhase {
  const { status, paused, prepared, scheduled_at, slots, cancelled_at } = email;
  const at = now.toISOString();
  if (status !== 'pending' && status !== 'submitting') return status;
  if (cancelled_at !== undefined) return 'cancelling';
  if (paused) return 'paused';
  if (status === 'pending') return (scheduled_at ?? '') > at ? 'scheduled' : 'queued';
  if (prepared === undefined) return 'preparing';
  // Of a batch that only asks nobody can say that it is sent.
  if (stopsAll(email)) return 'waiting';
  const isIdle = Object.keys(slots).length === 0;
  return isIdle && (email.hold !== undefined || (paceOf(email) || email.next_at || '') > at) ? 'waiting' : 'sending';
}

const paceOf = ({ delivery_deadline, next_batch_at = '' }: Email) =>
  delivery_deadline === undefined ? '' : next_batch_at;

/** From the last minute's throughput, not before the delivery window's end. Undefined while too little is known. */
function etaOf(email: Email, pending: number, rate: number | undefined, now: Date): string | undefined {
  if (email.status !== 'submitting' || email.paused || pending === 0 || !rate) return undefined;
  const end = new Date(now.getTime() + (pending / rate) * 1000).toISOString();
  const { delivery_deadline = '' } = email;
  return delivery_deadline > end ? delivery_deadline : end;
}

/** Numbers of recipients that events told of. Opens and clicks by machines are counted apart. */
function eventCounts(events: readonly Pick<BatchEvents, 'bits'>[]) {
  const sums = Object.fromEntries(
    EVENT_KINDS.filter((kind) => kind !== 'accepted' && kind !== 'rejected').map((kind) => [
      kind,
      events.reduce((sum, { bits }) => sum + countBits(bits[kind]), 0),
    ]),
  );
  return sums as Readonly<Record<Exclude<EventKind, 'accepted' | 'rejected'>, number>>;
}

function batchCounts(batches: readonly Batch[]): Readonly<Record<BatchStatus, number>> {
  const counts = Object.fromEntries(
    BATCH_STATUSES.map((status) => [status, batches.filter((batch) => batch.status === status).length]),
  );
  return counts as Record<BatchStatus, number>;
}

const rounded = (rate: number | undefined): number | null => (rate === undefined ? null : Math.round(rate * 10) / 10);

/** What a decision reached, and of what it did not reach only what there is, as interfaces show it. */
export function shownResolved({ resolved, continued, busy, waiting, waiting_until }: Omit<Resolved, 'email'>) {
  const some = { continued: continued || undefined, busy: busy || undefined, waiting: waiting || undefined };
  return defined({ resolved, ...some, waiting_until });
}
