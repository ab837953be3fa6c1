import { placesOf } from '../accounting/chunk-changes.ts';
import { type HoldCause, NO_REFUSALS, probeAt } from '../lifecycle/holds.ts';
import { type Batch, type ChunkState, RECIPIENT_STATES, type Suspects } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import { JOB_RETRY_SETTINGS, type JobLimits } from '../model/job-limits.ts';
import type { Refusal } from '../model/provider.ts';

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

/**
 * Pending recipients of a batch that were refused for good since the provider accepted its last mail. An acceptance shows
 * that they were refused for themselves: they are `failed` then. With enough of them the email holds, as everybody is
 * refused: they stay pending, and are tried again like the others.
 */
export interface RefusedRecipients {
  readonly round: number;
  /** Reasons by place, `<chunk>-<n>`. */
  readonly places: ReadonlyMap<string, string>;
  /** The turn in which the email's count got them. */
  readonly told: Suspects['told'];
  /** When the batch was given its slot. A repeated message and another sender of the same slot have the same turn. */
  readonly turn: string;
}

/** Why somebody was refused for good, by place in the chunk. */
export type RefusedPlaces = readonly (readonly [n: number, refusal: Refusal])[];

/** What decides whether everybody is refused. */
type Known = Pick<Sending, 'email' | 'batch' | 'chunks' | 'refused'>;

type Limit = Pick<JobLimits, 'refused_recipients'>;

const NOBODY: RefusedRecipients['places'] = new Map();
/** As many as a stage may set: the row of a batch stays small. */
const MOST_KEPT = JOB_RETRY_SETTINGS.refusedRecipients.to;

const roundOf = ({ refusals = NO_REFUSALS }: Pick<Email, 'refusals'>) => refusals.round;
const placeOf = (chunk: number, n: number) => `${chunk}-${n}`;

/** Those that the batch has kept, as its sender begins. */
function storedRefused(email: Email, stored: Suspects | undefined, turn: string): RefusedRecipients {
  const round = roundOf(email);
  if (stored?.round !== round) return { round, places: NOBODY, told: undefined, turn };
  return { round, places: new Map(Object.entries(stored.places)), told: stored.told, turn };
}

export function noRefused({ round, turn }: RefusedRecipients): RefusedRecipients {
  return { round, places: NOBODY, told: undefined, turn };
}

/** None, if everybody was found to be refused since: such refusals say nothing about single recipients. */
export function refusedSince(email: Email, refused: RefusedRecipients): RefusedRecipients {
  const round = roundOf(email);
  return round === refused.round ? refused : noRefused({ ...refused, round });
}

export function withRefused(refused: RefusedRecipients, chunk: number, places: RefusedPlaces): RefusedRecipients {
  const added = places.map(([n, { reason }]) => [placeOf(chunk, n), reason] as const);
  return { ...refused, places: new Map([...refused.places, ...added]) };
}

export const isRefused = ({ places }: RefusedRecipients, chunk: number, n: number): boolean =>
  places.has(placeOf(chunk, n));

/** Whether the email counts them since an earlier turn, so that other batches had the slot in between. */
export const isTold = ({ told, turn }: RefusedRecipients): boolean => told !== undefined && told !== turn;

/** How many, by reason. */
export function countsByReason({ places }: RefusedRecipients): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const reason of places.values()) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

/** What the batch keeps of them; undefined for nothing. */
export function suspectsOf({ round, places, told }: RefusedRecipients): Suspects | undefined {
  if (places.size === 0) return undefined;
  return { round, places: Object.fromEntries([...places].slice(0, MOST_KEPT)), ...(told && { told }) };
}

/** Those of a chunk who are still pending: others may have excluded or resolved them. */
export function refusedIn({ places }: RefusedRecipients, { chunk, states }: ChunkState): ReadonlyMap<number, string> {
  const found = [...states].flatMap((code, n) => {
    const reason = code === RECIPIENT_STATES.pending ? places.get(placeOf(chunk, n)) : undefined;
    return reason === undefined ? [] : [[n, reason] as const];
  });
  return new Map(found);
}

/** How many were refused for the reason, in this batch and in those whose refusals the email counts. */
function countOf(reason: string, { refused, email, batch }: Known): number {
  const others = Object.entries(email.refusals?.batches ?? {}).filter(([batch_id]) => batch_id !== batch.batch_id);
  return others.reduce((sum, [, counts]) => sum + (counts[reason] ?? 0), countsByReason(refused)[reason] ?? 0);
}

/** Whether they alone make the email hold: a sender may have died between finding that and writing it. */
export const areAll = (refused: RefusedRecipients, { refused_recipients }: Limit): boolean =>
  Object.values(countsByReason(refused)).some((count) => count >= refused_recipients);

/**
 * Why the email holds, if enough recipients were refused for the reason with no acceptance between. A sender that was
 * never accepted as verified needs no more than one.
 */
export function holdForAll(places: RefusedPlaces, known: Known, limits: Limit): HoldCause | undefined {
  for (const [, { class: kind, reason, message = reason }] of places) {
    const isSender = kind === 'unverified';
    const isAccepted = known.chunks.some(({ states }) => states.includes(RECIPIENT_STATES.submitted));
    const least = isSender && !isAccepted ? 1 : limits.refused_recipients;
    if (countOf(reason, known) >= least) return everybody({ for: isSender ? 'sender' : 'refused', reason, message });
  }
  return undefined;
}

/** The same by the email's counts, which keep the reason and no message. */
export function holdForTold(known: Known, { refused_recipients }: Limit): HoldCause | undefined {
  const reasons = Object.keys(countsByReason(known.refused));
  const reason = reasons.find((one) => countOf(one, known) >= refused_recipients);
  return reason === undefined ? undefined : everybody({ for: 'refused', reason, message: reason });
}

/** Marks the cause as one for everybody: refusals until now say nothing about single recipients. */
export const everybody = (cause: HoldCause): HoldCause => ({ ...cause, everybody: true });
