import { countsOf, reasonsOf, sentBatches } from '../accounting/counts.ts';
import { heldSentence } from '../events/hold.ts';
import type { Resolved } from '../lifecycle/resolve.ts';
import { BATCH_STATUSES, type Batch, type BatchStatus, EXCLUDED_BATCH, type ProgressSample } from '../model/batch.ts';
import type { Email, EmailStatus, Held } from '../model/email.ts';
import type { BatchStore } from '../model/ports.ts';
import {
  type BatchEvents,
  countBits,
  EVENT_KINDS,
  type EventKind,
  type StateCounts,
} from '../model/recipient-state.ts';

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
  /** Why the email paused itself; absent once an operator has resumed it. */
  readonly held?: Pick<Held, 'reason' | 'count' | 'sent' | 'at'> & { readonly message: string };
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

/** What the job keeps on a batch for itself. */
type Internal =
  | 'tenant_id'
  | 'version'
  | 'progress'
  | 'claim_id'
  | 'claim_until'
  | 'provider_failures'
  | 'rendering'
  | 'warmed_domain'
  | 'judges_alone';

export type BatchView = Omit<Batch, Internal>;

function batchView(batch: Batch): BatchView {
  const { tenant_id, version, progress, claim_id, claim_until, provider_failures, rendering, ...rest } = batch;
  const { warmed_domain, judges_alone, ...shown } = rest;
  return shown;
}

/** The batches of an email by number, a page at a time; that of the excluded recipients comes last. */
export async function listBatches(
  email_id: string,
  { limit, after }: { readonly limit: number; readonly after?: string },
  batches: Pick<BatchStore, 'read' | 'from'>,
): Promise<{ readonly batches: readonly BatchView[]; readonly next?: string }> {
  const from = after === undefined ? '00000' : String(Number(after) + 1).padStart(5, '0');
  const found = await batches.from(email_id, from, limit);
  const last = found.at(-1);
  if (found.length === limit && last !== undefined) return { batches: found.map(batchView), next: last.batch_id };
  const excluded = await batches.read(email_id, EXCLUDED_BATCH);
  return { batches: [...found, ...(excluded ? [excluded] : [])].map(batchView) };
}

/** Seconds between two samples; the newest one moves until it has this distance from the one before it. */
const STEP_S = 10;
/** Enough for the last minute. */
const MOST = 8;
/** The seconds over which throughput is counted. */
const WINDOW_S = 60;
/** Fewer seconds of sending say nothing about the rate. */
const LEAST_S = 5;

/** The samples of a batch after one more; a pause of more than a minute begins anew. */
export function withSample(
  samples: readonly ProgressSample[] = [],
  now: Date,
  done: number,
): readonly ProgressSample[] {
  const at = Math.floor(now.getTime() / 1000);
  const last = samples.at(-1);
  const before = samples.at(-2);
  if (last === undefined || at - last.at > WINDOW_S) return [{ at, done }];
  const kept = before !== undefined && last.at - before.at < STEP_S ? samples.slice(0, -1) : samples;
  return [...kept, { at, done }].slice(-MOST);
}

/** Recipients per second in the last minute, over all batches; undefined while too little is known. */
export function throughputOf(batches: readonly Pick<Batch, 'progress'>[], now: Date): number | undefined {
  const at = now.getTime() / 1000;
  const since = at - WINDOW_S;
  let done = 0;
  let from = Number.POSITIVE_INFINITY;
  for (const { progress = [] } of batches) {
    const first = progress[0];
    const last = progress.at(-1);
    if (first === undefined || last === undefined || last.at < since) continue;
    done += Math.max(0, last.done - doneAt(progress, since));
    from = Math.min(from, Math.max(first.at, since));
  }
  const seconds = at - from;
  return seconds < LEAST_S || !Number.isFinite(seconds) ? undefined : done / seconds;
}

/** Between two samples, recipients are spread evenly. */
function doneAt(samples: readonly ProgressSample[], at: number): number {
  const after = samples.findIndex((sample) => sample.at >= at);
  const next = samples[after];
  const before = samples[after - 1];
  if (next === undefined) return samples.at(-1)?.done ?? 0;
  if (before === undefined) return next.done;
  return before.done + ((next.done - before.done) * (at - before.at)) / (next.at - before.at);
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
