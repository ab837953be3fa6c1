import { epochMs } from '../../model/time.ts';
import { placesOf } from '../accounting/chunk-changes.ts';
import {
  CHUNK_SIZE,
  type Chunk,
  type ExclusionReason,
  RECIPIENT_STATES,
  UnreadableChunkError,
} from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import { StopRetrying } from '../model/job-limits.ts';
import { type AddressFacts, type GoneReason, goneFrom, hasUnsubscribed } from '../model/member.ts';
import type { MemberStore, SealedChunk, Sealing } from '../model/ports.ts';
import { nextOpen, type Sending, type Stop } from './batch-step.ts';
import type { LateExclusions, SendDeps } from './send-deps.ts';

interface CheckedBatch {
  readonly known: Pick<Sending, 'email' | 'chunks'>;
  readonly deps: Pick<SendDeps, 'clock' | 'exclusions'>;
  storage<T>(what: string, run: () => Promise<T>): Promise<T>;
  readonly reader: Pick<RecipientReader, 'chunkAtHand'>;
}

/** The facts of addresses that were read with those of the chunk before are used when they are at most so old. */
const FRESH_MS = 1_000;
/** Addresses whose facts one call reads (MemberStore.facts). */
const MOST_ADDRESSES = 2 * CHUNK_SIZE;

type Reasons = ReadonlyMap<number, ExclusionReason | undefined>;

/**
 * Who must not get the mail any more, looked up when a chunk goes out. While a chunk takes less than a second, one call
 * looks for the next one, too (docs/decisions/newsletters/throughput.md#0166).
 */
export class ExclusionChecks {
  #ahead: { readonly chunk: number; readonly at: number; readonly reasons: Reasons } | undefined;
  #last_chunk: number | undefined;
  #last_at = Number.NEGATIVE_INFINITY;

  /** The reasons of those among the places that are excluded now. */
  async of(chunk: Chunk, places: readonly number[], held: CheckedBatch): Promise<ReadonlyMap<number, ExclusionReason>> {
    const now = held.deps.clock().getTime();
    const isQuick = this.#last_chunk !== undefined && now - this.#last_at <= FRESH_MS;
    if (this.#last_chunk !== chunk.chunk) {
      this.#last_chunk = chunk.chunk;
      this.#last_at = now;
    }
    const known = this.#ahead;
    const isKnown = known?.chunk === chunk.chunk && now - known.at <= FRESH_MS;
    this.#ahead = undefined;
    if (isKnown && places.every((n) => known.reasons.has(n))) return excludedIn(known.reasons, places);
    return excludedIn(await this.#check(chunk, places, isQuick, held), places);
  }

  async #check(chunk: Chunk, places: readonly number[], isQuick: boolean, held: CheckedBatch): Promise<Reasons> {
    const at = held.deps.clock().getTime();
    const next = isQuick ? await nextAtHand(chunk.chunk, held) : undefined;
    const recipients = [
      ...recipientsOf(chunk, places),
      ...(next === undefined ? [] : recipientsOf(next.chunk, next.places)),
    ];
    const together = next !== undefined && recipients.length <= MOST_ADDRESSES;
    const reasons = await held.storage('read what is known of addresses', () =>
      held.deps.exclusions.check(held.known.email, together ? recipients : recipients.slice(0, places.length)),
    );
    if (together) {
      const ahead = new Map(next.places.map((n, i) => [n, reasons[places.length + i]]));
      this.#ahead = { chunk: next.chunk.chunk, at, reasons: ahead };
    }
    return new Map(places.map((n, i) => [n, reasons[i]]));
  }
}

async function nextAtHand(chunk: number, held: CheckedBatch) {
  const state = nextOpen(held.known, chunk);
  const next = state && (await held.reader.chunkAtHand(state.chunk));
  return next && { chunk: next, places: placesOf(state.states, RECIPIENT_STATES.pending) };
}

function recipientsOf({ recipients }: Chunk, places: readonly number[]) {
  return places.flatMap((n) => recipients[n] ?? []);
}

function excludedIn(reasons: Reasons, places: readonly number[]): ReadonlyMap<number, ExclusionReason> {
  const excluded = new Map<number, ExclusionReason>();
  for (const n of places) {
    const reason = reasons.get(n);
    if (reason !== undefined) excluded.set(n, reason);
  }
  return excluded;
}

/** A move is written with the time of another machine. */
const CLOCK_SKEW_MS = 60_000;

/** When a preparation began, in milliseconds; the same however often it is interrupted. */
export function beginOf({ submitting_at, created_at }: Pick<Email, 'submitting_at' | 'created_at'>): number {
  return epochMs(submitting_at ?? created_at) - CLOCK_SKEW_MS;
}

/** The longest from the mark of a member who leaves to its leaving: no request to the API lives as long. */
const LEAVING_MS = 15 * 60_000;

/**
 * Whether mail of the newsletter may go to the address; the reason when it may not.
 * @param began when the preparation of the mailing began, in milliseconds: who was gone before is none of its recipients
 */
export function whyExcluded(
  facts: Omit<AddressFacts, 'tenant_id' | 'email_hash'> | undefined,
  newsletter_id: string,
  began: number,
): 'suppressed' | 'unsubscribed' | GoneReason | undefined {
  if (facts === undefined) return undefined;
  if (facts.suppressed !== undefined) return 'suppressed';
  if (hasUnsubscribed(facts, newsletter_id)) return 'unsubscribed';
  const gone = goneFrom(facts, newsletter_id);
  return gone !== undefined && Date.parse(gone.at) + LEAVING_MS >= began ? gone.reason : undefined;
}

/** Reads the facts of the addresses again when their chunk goes out: who unsubscribed or left meanwhile gets no mail. */
export function createLateExclusions(
  members: Pick<MemberStore, 'facts'>,
  sealing: Pick<Sealing, 'emailHash'>,
): LateExclusions {
  return {
    async check(email, recipients) {
      const { tenant_id, newsletter_id } = email;
      const hashes = await Promise.all(
        recipients.map(({ member_email }) => sealing.emailHash(tenant_id, member_email)),
      );
      const facts = await members.facts(tenant_id, [...new Set(hashes)]);
      const began = beginOf(email);
      return hashes.map((hash) => whyExcluded(facts.get(hash), newsletter_id, began));
    },
  };
}

/** Whose recipients are read. */
interface ReadBatch {
  readonly known: Pick<Sending, 'batch' | 'chunks'>;
  readonly deps: SendDeps;
  storage<T>(what: string, run: () => Promise<T>): Promise<T>;
}

/** The recipients of a batch's chunks: one read brings those of several chunks that have somebody to send to. */
export class RecipientReader {
  readonly #held: ReadBatch;
  /** The recipients of the chunk that was asked for last, and of some that follow it. */
  #ahead: ReadonlyMap<number, SealedChunk> = new Map();
  /** The next one of them, decrypted. */
  #opened: Chunk | undefined;
  /** Chunks that can never be read, and why. */
  readonly #unreadable = new Map<number, string>();
  /** Chunks whose addresses have expired, while their states are kept. */
  readonly #gone = new Set<number>();

  constructor(held: ReadBatch) {
    this.#held = held;
  }

  /** The recipients of a chunk; undefined where they can never be read, which holds up no other chunk. */
  async chunk(number: number): Promise<Chunk | undefined> {
    try {
      const chunk = await this.#read(number);
      if (chunk === undefined) this.#gone.add(number);
      return chunk;
    } catch (error) {
      if (!(error instanceof UnreadableChunkError)) throw error;
      this.#unreadable.set(number, error.message);
      return undefined;
    }
  }

  isGone(chunk: number): boolean {
    return this.#gone.has(chunk);
  }

  isUnreadable(chunk: number): boolean {
    return this.#unreadable.has(chunk);
  }

  /** The end of a batch that has recipients left who can never be read. */
  get unreadable(): Stop | undefined {
    const [why] = this.#unreadable.values();
    if (why === undefined) return undefined;
    const lost = this.#held.known.chunks.filter(({ chunk }) => this.isUnreadable(chunk));
    const count = lost.reduce((sum, { states }) => sum + placesOf(states, RECIPIENT_STATES.pending).length, 0);
    return {
      kind: 'fail',
      refusal: { class: 'settings', reason: 'unreadable_recipients', message: why },
      what: `Nobody can read ${count} recipients of the batch any more`,
    };
  }

  /** The recipients of a chunk that an earlier read brought along; undefined where that did not, or they do not open. */
  async chunkAtHand(number: number): Promise<Chunk | undefined> {
    this.#opened = await this.#ahead
      .get(number)
      ?.open()
      .catch(() => undefined);
    return this.#opened;
  }

  async #read(number: number): Promise<Chunk | undefined> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened?.chunk === number) return opened;
    const { known, deps } = this.#held;
    const { email_id, batch_id } = known.batch;
    if (!this.#ahead.has(number)) {
      const found = await this.#held.storage('read the recipients of chunks', () =>
        deps.chunks.readChunks(email_id, batch_id, number, this.#lastToRead(number)),
      );
      this.#ahead = new Map(found.map((sealed) => [sealed.chunk, sealed]));
    }
    const sealed = this.#ahead.get(number);
    if (sealed === undefined) return undefined;
    const open = () =>
      sealed.open().catch((error: unknown) => {
        throw error instanceof UnreadableChunkError ? new StopRetrying(error) : error;
      });
    return this.#held.storage('open a chunk', open);
  }

  #lastToRead(from: number): number {
    const { known, deps } = this.#held;
    const end = from + deps.limits.read_ahead;
    const open = known.chunks.filter((state) => state.chunk < end && state.states.includes(RECIPIENT_STATES.pending));
    return Math.max(from, ...open.map(({ chunk }) => chunk));
  }
}
