import { placesOf } from '../accounting/chunk-changes.ts';
import { type HoldCause, probeAt } from '../lifecycle/holds.ts';
import { type Batch, type ChunkState, RECIPIENT_STATES } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import type { Refusal } from '../model/provider.ts';
import { isRefused, type RefusedRecipients, storedRefused } from './refused-recipients.ts';

/**
 * What a sender knows of its batch: the rows as they were read last, and what its calls have shown. The email's breaker
 * (lifecycle/holds.ts) lets one sender at a time probe while the email holds: `probing` says that this sender does.
 */
export interface Sending {
  readonly email: Email;
  readonly batch: Batch;
  readonly chunks: readonly ChunkState[];
  readonly slot: string;
  readonly refused: RefusedRecipients;
  /** Refusals of whole calls in a row. */
  readonly provider_failures: number;
  /** Calls without an answer, in a row. */
  readonly unanswered: number;
  /** The email holds, and this sender makes the probe. */
  readonly probing: boolean;
  /** A call hung for so long that another batch got the slot: this sender ends when the call has. */
  readonly gave_slot_away: boolean;
  /** A call was answered entry by entry, since the batch has its slot or the last pause: a refused one does not count. */
  readonly was_answered: boolean;
}

/** Why a sender does not go on with its batch for now. */
export type Stop =
  /** A pause of the batch; with a cause one of the email, as its other batches would not fare better. */
  | { readonly kind: 'wait'; readonly until: string; readonly hold?: HoldCause }
  /** All that is left in the batch was refused for good: whether everybody is, other batches have to show. */
  | { readonly kind: 'aside' }
  /** The invocation's time ends: another one goes on. */
  | { readonly kind: 'continue' }
  /** The email was paused, or the slot was given to another batch. */
  | { readonly kind: 'halt' }
  /** The batch fails: an operator has to mend something, or the provider refused too often. */
  | {
      readonly kind: 'fail';
      readonly refusal: Refusal;
      /** What happened, for people; absent: the provider refused the batch. */
      readonly what?: string;
    };

/** What a sender does next: it stops, or goes on with the chunk. */
export type Step =
  | Stop
  | {
      readonly kind: 'go-on';
      /** Entries of a call. */
      readonly most: number;
      /** Places that had their turn in this pass. */
      readonly tried: readonly number[];
    };

/** What a sender knows as it begins. */
export function begun(email: Email, batch: Batch, slot: string): Omit<Sending, 'batch'> {
  const { since = '', given_at = since } = email.slots[slot] ?? {};
  return {
    email,
    chunks: [],
    slot,
    refused: storedRefused(email, batch.suspects, given_at),
    provider_failures: batch.provider_failures ?? 0,
    unanswered: email.silence?.calls ?? 0,
    probing: probeAt(email) !== undefined,
    gave_slot_away: false,
    was_answered: false,
  };
}

/** Stops this batch and makes the email hold, as its other batches would be refused, too. */
export const holdNow = (hold: HoldCause, now: Date): Stop => ({ kind: 'wait', until: now.toISOString(), hold });

/** Whether a pending recipient used up its tries: it waits for a `retry`, which gives it new ones. */
export function hasUsedUpTries(
  { tries }: Pick<ChunkState, 'tries'>,
  n: number,
  { tries_before = 0 }: Pick<Batch, 'tries_before'>,
  { provider }: Pick<JobLimits, 'provider'>,
): boolean {
  return (tries[n] ?? 0) - tries_before > provider.retries;
}

/** Whom of the chunk a call may have now, by place. */
export function openPlaces(
  state: ChunkState,
  { tried }: { readonly tried: ReadonlySet<number> },
  { refused, batch }: Sending,
  limits: JobLimits,
): number[] {
  return placesOf(state.states, RECIPIENT_STATES.pending).filter(
    (n) => !tried.has(n) && !isRefused(refused, state.chunk, n) && !hasUsedUpTries(state, n, batch, limits),
  );
}

/** The next chunk that has somebody to send to. */
export function nextOpen({ chunks }: Pick<Sending, 'chunks'>, number: number): ChunkState | undefined {
  return chunks.find(({ chunk, states: codes }) => chunk > number && codes.includes(RECIPIENT_STATES.pending));
}

/**
 * Entries of a call at most. While calls get no answer, a probe has one, as its recipients may become uncertain. While
 * events alone tell of refusals, it has as many as make an email hold: more would show no more.
 */
export function mostPerCall({ email: { silence, hold }, probing }: Sending, limits: JobLimits): number {
  if (silence?.until !== undefined) return 1;
  return Math.min(limits.chunk_size, probing && hold?.late ? limits.refused_recipients : limits.chunk_size);
}

/** In their order, but a probe begins further on than the one before it: the same recipients may be the bad ones. */
export function inTurn<T>(all: readonly T[], { probing, email: { hold } }: Sending, step: number): readonly T[] {
  const from = probing && hold !== undefined && all.length > 0 ? (hold.asked * step) % all.length : 0;
  return from === 0 ? all : [...all.slice(from), ...all.slice(0, from)];
}

/** Where the refusals came by events, an acceptance shows nothing: the email goes on holding until events come. */
export function toldLater({ probing, email: { hold } }: Sending, now: Date): Stop | undefined {
  if (!probing || !hold?.late) return undefined;
  const { ask_at: _, asked: __, since: ___, ...cause } = hold;
  return holdNow(cause, now);
}
