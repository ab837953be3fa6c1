import { countsOf, reasonsOf, sentBatches } from '../accounting/counts.ts';
import { BATCH_STATUSES, type Batch, type BatchStatus } from '../model/batch.ts';
import { type BatchEvents, countBits, EVENT_KINDS, type EventKind } from '../model/delivery-bits.ts';
import type { Email, EmailStatus } from '../model/email.ts';
import type { StateCounts } from '../model/recipient-state.ts';
import { throughputOf } from './throughput.ts';

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
export interface EmailSummary {
  readonly email_id: string;
  readonly newsletter_id: string;
  readonly status: EmailStatus;
  readonly phase: EmailPhase;
  /** Members that the count found, then the frozen number of recipients; null until it is counted. */
  readonly email_count: number | null;
  readonly segment?: string;
  readonly scheduled_at?: string;
  readonly delivery_window_minutes?: number;
  readonly submitted_at?: string;
  readonly error?: string;
  readonly error_code?: string;
  readonly created_at: string;
}

/** Numbers of recipients that events told of. Opens and clicks by machines are counted apart. */
type EventCounts = Readonly<Record<Exclude<EventKind, 'accepted' | 'rejected'>, number>>;

export interface EmailView extends EmailSummary {
  readonly counts: StateCounts & EventCounts & { readonly recipients: number };
  /** Uncertain recipients that an operator decided to leave so. */
  readonly uncertain_left: number;
  readonly excluded_by_reason: Readonly<Record<string, number>>;
  readonly failed_by_reason: Readonly<Record<string, number>>;
  readonly batches: Readonly<Record<BatchStatus, number>>;
  /** Recipients per second: of the last minute, and what the provider allows; null: not known. */
  readonly rate: { readonly now: number | null; readonly allowed: number | null };
  /** When the last recipient is expected to be sent; absent while nothing is sent, or too little is known. */
  readonly eta?: string;
}

export interface EmailRows {
  readonly email: Email;
  readonly batches: readonly Batch[];
  readonly events: readonly BatchEvents[];
}

export function emailSummary(email: Email, now: Date): EmailSummary {
  const { segment, scheduled_at, delivery_window_minutes, submitted_at, error, error_code } = email;
  return {
    email_id: email.email_id,
    newsletter_id: email.newsletter_id,
    status: email.status,
    phase: phaseOf(email, now),
    email_count: email.email_count ?? null,
    ...(segment !== undefined && { segment }),
    ...(scheduled_at !== undefined && { scheduled_at }),
    ...(delivery_window_minutes !== undefined && { delivery_window_minutes }),
    ...(submitted_at !== undefined && { submitted_at }),
    ...(error !== undefined && { error }),
    ...(error_code !== undefined && { error_code }),
    created_at: email.created_at,
  };
}

/** The status of an email: its states are sums of the batches' counts, its events are sums of bits. */
export function emailView({ email, batches, events }: EmailRows, now: Date, allowed: number | undefined): EmailView {
  const sent = sentBatches(batches);
  const { recipients, ...states } = countsOf(email, batches);
  const rate = phaseOf(email, now) === 'sending' ? throughputOf(sent, now) : undefined;
  const eta = etaOf(email, states.pending, rate, now);
  return {
    ...emailSummary(email, now),
    counts: { recipients, ...states, ...eventCounts(events) },
    uncertain_left: sent.reduce((sum, { uncertain_left = 0 }) => sum + uncertain_left, 0),
    excluded_by_reason: email.prepared === undefined ? {} : reasonsOf(batches, 'excluded_by_reason'),
    failed_by_reason: reasonsOf(batches, 'failed_by_reason'),
    batches: batchCounts(email.prepared === undefined ? [] : sent),
    rate: { now: rate === undefined ? null : rounded(rate), allowed: allowed === undefined ? null : rounded(allowed) },
    ...(eta !== undefined && { eta }),
  };
}

export function phaseOf(email: Email, now: Date): EmailPhase {
  const { status, paused, prepared, scheduled_at, slots, next_batch_at, cancelled_at } = email;
  const at = now.toISOString();
  if (status !== 'pending' && status !== 'submitting') return status;
  if (cancelled_at !== undefined) return 'cancelling';
  if (paused) return 'paused';
  if (status === 'pending') return (scheduled_at ?? '') > at ? 'scheduled' : 'queued';
  if (prepared === undefined) return 'preparing';
  return Object.keys(slots).length === 0 && (next_batch_at ?? email.next_at ?? '') > at ? 'waiting' : 'sending';
}

/** From the last minute's throughput; the delivery window ends no earlier than it was asked for. */
function etaOf(email: Email, pending: number, rate: number | undefined, now: Date): string | undefined {
  if (email.status !== 'submitting' || email.paused || pending === 0 || !rate) return undefined;
  const end = new Date(now.getTime() + (pending / rate) * 1000).toISOString();
  const { delivery_deadline = '' } = email;
  return delivery_deadline > end ? delivery_deadline : end;
}

function eventCounts(events: readonly Pick<BatchEvents, 'bits'>[]): EventCounts {
  const sums = Object.fromEntries(
    EVENT_KINDS.filter((kind) => kind !== 'accepted' && kind !== 'rejected').map((kind) => [
      kind,
      events.reduce((sum, { bits }) => sum + countBits(bits[kind]), 0),
    ]),
  );
  return sums as EventCounts;
}

function batchCounts(batches: readonly Batch[]): Readonly<Record<BatchStatus, number>> {
  const counts = Object.fromEntries(
    BATCH_STATUSES.map((status) => [status, batches.filter((batch) => batch.status === status).length]),
  );
  return counts as Record<BatchStatus, number>;
}

function rounded(rate: number): number {
  return Math.round(rate * 10) / 10;
}
