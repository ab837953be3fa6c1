import { countsOf, reasonsOf, sentBatches } from '../accounting/counts.ts';
import type { Resolved } from '../lifecycle/resolve.ts';
import { BATCH_STATUSES, type Batch, type BatchStatus } from '../model/batch.ts';
import { type Email, type EmailStatus, type Held, heldSentence } from '../model/email.ts';
import {
  type BatchEvents,
  countBits,
  EVENT_KINDS,
  type EventKind,
  type StateCounts,
} from '../model/recipient-state.ts';
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
  /** Its beginning; absent for an email from before it was kept. */
  readonly subject?: string;
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
  /** Why the email paused itself; absent once an operator has resumed it. */
  readonly held?: Pick<Held, 'reason' | 'count' | 'sent' | 'at'> & { readonly message: string };
  readonly created_at: string;
}

/** Numbers of recipients that events told of. Opens and clicks by machines are counted apart. */
type EventCounts = Readonly<Record<Exclude<EventKind, 'accepted' | 'rejected'>, number>>;

/** Shares of the submitted mails. */
export interface Rates {
  readonly delivered: number;
  readonly opened: number;
  readonly clicked: number;
  readonly bounced: number;
}

export interface ListedEmail extends EmailSummary {
  /** Absent while nothing is submitted, and for large emails, whose status tells. */
  readonly rates?: Rates;
}

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
  /** What an email waits for whose phase is `waiting`. */
  readonly waits?: Waits;
}

/** `retry`: SES refused; `silence`: it answers no call; `window`: the pace of the delivery window; `allowance`: rate or quota. */
export const WAITS = ['retry', 'silence', 'window', 'allowance'] as const;
export interface Waits {
  readonly for: (typeof WAITS)[number];
  readonly until: string;
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
    ...(email.subject !== undefined && { subject: email.subject }),
    status: email.status,
    phase: phaseOf(email, now),
    email_count: email.email_count ?? null,
    ...(segment !== undefined && { segment }),
    ...(scheduled_at !== undefined && { scheduled_at }),
    ...(delivery_window_minutes !== undefined && { delivery_window_minutes }),
    ...(submitted_at !== undefined && { submitted_at }),
    ...(error !== undefined && { error }),
    ...(error_code !== undefined && { error_code }),
    ...(email.paused && email.held !== undefined && { held: shownHeld(email.held) }),
    created_at: email.created_at,
  };
}

function shownHeld(held: Held) {
  const { reason, count, sent, at } = held;
  return { reason, count, sent, at, message: heldSentence(held) };
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
    ...waitsOf(email, sent, now),
  };
}

function waitsOf(email: Email, batches: readonly Batch[], now: Date): { readonly waits?: Waits } {
  if (phaseOf(email, now) !== 'waiting') return {};
  const at = now.toISOString();
  const { silence, next_batch_at = '', delivery_deadline, next_at = at } = email;
  if ((silence?.until ?? '') > at) return { waits: { for: 'silence', until: silence?.until ?? at } };
  const tried = batches.filter(
    ({ provider_failures = 0, not_before = '' }) => provider_failures > 0 && not_before > at,
  );
  const [retry_at] = tried.flatMap(({ not_before }) => not_before ?? []).sort();
  if (retry_at !== undefined) return { waits: { for: 'retry', until: retry_at } };
  const until = next_batch_at > at ? next_batch_at : next_at;
  return { waits: { for: delivery_deadline !== undefined && next_batch_at > at ? 'window' : 'allowance', until } };
}

export function ratesOf({ counts }: Pick<EmailView, 'counts'>): { readonly rates?: Rates } {
  const { submitted } = counts;
  if (submitted === 0) return {};
  const share = (count: number) => count / submitted;
  const { delivered, opened, clicked, bounced } = counts;
  const rates = {
    delivered: share(delivered),
    opened: share(opened),
    clicked: share(clicked),
    bounced: share(bounced),
  };
  return { rates };
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

/** What a decision reached, and of what it did not reach only what there is, as interfaces show it. */
export function shownResolved({ resolved, continued, busy, waiting, waiting_until }: Omit<Resolved, 'email'>) {
  return {
    resolved,
    ...(continued && { continued }),
    ...(busy > 0 && { busy }),
    ...(waiting > 0 && { waiting }),
    ...(waiting_until !== undefined && { waiting_until }),
  };
}
