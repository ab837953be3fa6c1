import { type HoldCause, NO_REFUSALS } from '../lifecycle/holds.ts';
import { type Batch, type ChunkState, RECIPIENT_STATES, type Suspects } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import { JOB_RETRY_SETTINGS, type JobLimits } from '../model/job-limits.ts';
import type { Refusal } from '../model/provider.ts';

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
interface Known {
  readonly email: Email;
  readonly batch: Pick<Batch, 'batch_id'>;
  readonly chunks: readonly ChunkState[];
  readonly refused: RefusedRecipients;
}

type Limit = Pick<JobLimits, 'refused_recipients'>;

const NOBODY: RefusedRecipients['places'] = new Map();
/** As many as a stage may set: the row of a batch stays small. */
const MOST_KEPT = JOB_RETRY_SETTINGS.refusedRecipients.to;

const roundOf = ({ refusals = NO_REFUSALS }: Pick<Email, 'refusals'>) => refusals.round;
const placeOf = (chunk: number, n: number) => `${chunk}-${n}`;

/** Those that the batch has kept, as its sender begins. */
export function storedRefused(email: Email, stored: Suspects | undefined, turn: string): RefusedRecipients {
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
