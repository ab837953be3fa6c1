import { NO_REFUSALS } from '../lifecycle/holds.ts';
import type { Suspects } from '../model/batch.ts';
import type { ChunkState } from '../model/chunk.ts';
import type { Email } from '../model/email.ts';
import { JOB_RETRY_SETTINGS } from '../model/job-limits.ts';
import type { Refusal } from '../model/provider.ts';
import { RECIPIENT_STATES } from '../model/recipient-state.ts';

const roundOf = ({ refusals = NO_REFUSALS }: Pick<Email, 'refusals'>) => refusals.round;
/** As many as a stage may set: the row of a batch stays small. */
const MOST_KEPT = JOB_RETRY_SETTINGS.refusedRecipients.to;

const placeOf = (chunk: number, n: number) => `${chunk}-${n}`;

/**
 * Pending recipients of a batch that were refused for good since the provider accepted its last mail. An acceptance shows
 * that they were refused for themselves: they are `failed` then. With enough of them the email holds, as everybody is
 * refused: they stay pending, and are tried again like the others.
 */
export class RefusedRecipients {
  #round: number;
  #places: Map<string, string>;
  /** The turn in which the email was told of them. */
  #told: Suspects['told'];
  /** When the batch was given its slot: a message that comes again, or another sender, is of the same turn. */
  readonly #turn: string;

  constructor(email: Email, stored: Suspects | undefined, turn: string) {
    this.#round = roundOf(email);
    const isOld = stored?.round !== this.#round;
    this.#places = new Map(isOld ? [] : Object.entries(stored.places));
    this.#told = isOld ? undefined : stored.told;
    this.#turn = turn;
  }

  get isEmpty(): boolean {
    return this.#places.size === 0;
  }

  /** The email counts them, and other batches had their turn: a sender may have died before it gave the slot to them. */
  get isTold(): boolean {
    return this.#told !== undefined && this.#told !== this.#turn;
  }

  /** What was refused before everybody was found to be refused says nothing of a recipient. */
  follow(email: Email): void {
    if (roundOf(email) === this.#round) return;
    this.clear();
    this.#round = roundOf(email);
  }

  tell(): void {
    this.#told = this.#turn;
  }

  has(chunk: number, n: number): boolean {
    return this.#places.has(placeOf(chunk, n));
  }

  add(chunk: number, n: number, { reason }: Refusal): void {
    this.#places.set(placeOf(chunk, n), reason);
  }

  clear(): void {
    this.#places.clear();
    this.#told = undefined;
  }

  /** How many, by reason. */
  get counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const reason of this.#places.values()) counts[reason] = (counts[reason] ?? 0) + 1;
    return counts;
  }

  /** What the batch keeps of them; undefined for nothing. */
  get suspects(): Suspects | undefined {
    if (this.isEmpty) return undefined;
    const places = Object.fromEntries([...this.#places].slice(0, MOST_KEPT));
    return { round: this.#round, places, ...(this.#told && { told: this.#told }) };
  }

  /** Those of a chunk who are still pending: others may have excluded or resolved them. */
  in({ chunk, states }: ChunkState): ReadonlyMap<number, string> {
    const found = [...states].flatMap((code, n) => {
      const reason = code === RECIPIENT_STATES.pending ? this.#places.get(placeOf(chunk, n)) : undefined;
      return reason === undefined ? [] : [[n, reason] as const];
    });
    return new Map(found);
  }
}
