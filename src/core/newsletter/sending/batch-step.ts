import { isoAfter } from '../../model/time.ts';
import { placesOf } from '../accounting/chunk-changes.ts';
import { askAt, type HoldCause } from '../lifecycle/holds.ts';
import type { Batch, ChunkState } from '../model/batch.ts';
import { RECIPIENT_STATES } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import { type JobLimits, pauseAfter } from '../model/job-limits.ts';
import type { Refusal } from '../model/provider.ts';
import {
  countsByReason,
  everybody,
  isRefused,
  isTold,
  type RefusedRecipients,
  refusedIn,
  storedRefused,
} from './refused-recipients.ts';

/**
 * What a sender knows of its batch: the rows as they were read last, and what its calls have shown. The email's breaker
 * (lifecycle/holds.ts) lets one sender at a time probe while the email holds: `asks` says that this sender does.
 */
export interface Sending {
  readonly email: Email;
  readonly batch: Batch;
  readonly states: readonly ChunkState[];
  readonly slot: string;
  readonly refused: RefusedRecipients;
  /** Refusals of whole calls in a row. */
  readonly provider_failures: number;
  /** Calls without an answer, in a row. */
  readonly unanswered: number;
  /** The email holds, and this sender makes the probe. */
  readonly asks: boolean;
  /** A call hung for so long that another batch got the slot: this sender ends when the call has. */
  readonly gave_slot_away: boolean;
  /** The provider has answered a call, since the batch has its slot or since the last pause. */
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
    states: [],
    slot,
    refused: storedRefused(email, batch.suspects, given_at),
    provider_failures: batch.provider_failures ?? 0,
    unanswered: email.silence?.calls ?? 0,
    asks: askAt(email) !== undefined,
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
  return (tries[n] ?? 0) - tries_before > provider.tries;
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
export function nextOpen({ states }: Pick<Sending, 'states'>, number: number): ChunkState | undefined {
  return states.find(({ chunk, states: codes }) => chunk > number && codes.includes(RECIPIENT_STATES.pending));
}

/**
 * Entries of a call at most. While calls get no answer, a probe has one, as its recipients may become uncertain. While
 * events alone tell of refusals, it has as many as make an email hold: more would show no more.
 */
export function mostPerCall({ email: { silence, hold }, asks }: Sending, limits: JobLimits): number {
  if (silence?.until !== undefined) return 1;
  return Math.min(limits.chunk_size, asks && hold?.late ? limits.refused_recipients : limits.chunk_size);
}

/** In their order, but a probe begins further on than the one before it: the same recipients may be the bad ones. */
export function inTurn<T>(all: readonly T[], { asks, email: { hold } }: Sending, step: number): readonly T[] {
  const from = asks && hold !== undefined && all.length > 0 ? (hold.asked * step) % all.length : 0;
  return from === 0 ? all : [...all.slice(from), ...all.slice(0, from)];
}

/** Where the refusals came by events, an acceptance shows nothing: the email goes on holding until events come. */
export function toldLater({ asks, email: { hold } }: Sending, now: Date): Stop | undefined {
  if (!asks || !hold?.late) return undefined;
  const { ask_at: _, asked: __, since: ___, ...cause } = hold;
  return holdNow(cause, now);
}

/** What the sender does when no chunk has anything left to send now; undefined: the batch can end. */
export function stepAtEnd(
  sending: Sending,
  isUnreadable: (chunk: number) => boolean,
  now: Date,
  limits: JobLimits,
): Stop | { readonly kind: 'fail-refused' } | undefined {
  const readable = sending.states.filter(({ chunk }) => !isUnreadable(chunk));
  const [until] = readable.flatMap((state) => timesOf(state, sending, now, limits)).sort();
  if (until !== undefined) return { kind: 'wait', until };
  const { states, refused, email } = sending;
  if (!states.some((state) => refusedIn(refused, state).size > 0)) return undefined;
  // Whether everybody is refused, other batches have to show first.
  if (!isTold(refused)) return { kind: 'aside' };
  const { for: why, reason = '', message = reason } = email.hold ?? {};
  // No other batch could show it, and the email held for the same reason before.
  const isSame = why === 'refused' && reason in countsByReason(refused);
  return isSame ? holdNow(everybody({ for: why, reason, message }), now) : { kind: 'fail-refused' };
}

/** For the recipients that are not at their end, when each may be sent to. */
function timesOf(state: ChunkState, { batch, refused }: Sending, now: Date, limits: JobLimits): string[] {
  const { states, tries, call } = state;
  return [...states].flatMap((code, n) => {
    if (code === RECIPIENT_STATES.claimed) return [call?.until ?? now.toISOString()];
    if (code !== RECIPIENT_STATES.pending || hasUsedUpTries(state, n, batch, limits)) return [];
    if (isRefused(refused, state.chunk, n)) return [];
    const made = (tries[n] ?? 0) - (batch.tries_before ?? 0);
    return [made <= 0 ? now.toISOString() : isoAfter(now, pauseAfter(made, limits.provider))];
  });
}

/** The batch fails where recipients have used up their tries: only an operator's retry sends to them. */
export function givenUp({ states, batch }: Sending, limits: JobLimits): Stop | undefined {
  const reasons = states.flatMap((state) =>
    placesOf(state.states, RECIPIENT_STATES.pending)
      .filter((n) => hasUsedUpTries(state, n, batch, limits))
      .map((n) => state.reasons[n] ?? 'refused'),
  );
  const [reason] = reasons;
  if (reason === undefined) return undefined;
  const what = `The provider refused ${reasons.length} of the batch for the time being, in all tries`;
  return { kind: 'fail', refusal: { class: 'transient', reason }, what };
}
