import { placesOf } from '../accounting/chunk-changes.ts';
import type { Batch } from '../model/batch.ts';
import { type Chunk, type ChunkState, UnreadableChunkError } from '../model/chunk.ts';
import type { SealedChunk } from '../model/ports.ts';
import { RECIPIENT_STATES } from '../model/recipient-state.ts';
import { StopRetrying } from '../storage/retry-storage.ts';
import type { SendDeps } from './send-deps.ts';
import type { Stop } from './stop.ts';

/** Whose recipients are read. */
interface ReadBatch {
  readonly batch: Batch;
  readonly states: readonly ChunkState[];
  readonly deps: SendDeps;
  storage<T>(what: string, run: () => Promise<T>): Promise<T>;
}

/** The recipients of a batch's chunks: one read brings those of several chunks that have somebody to send to. */
export class RecipientReader {
  readonly #work: ReadBatch;
  /** The recipients of the chunk that was asked for last, and of some that follow it. */
  #ahead: ReadonlyMap<number, SealedChunk> = new Map();
  /** The next one of them, decrypted. */
  #opened: Chunk | undefined;
  /** Chunks that can never be read, and why. */
  readonly #unreadable = new Map<number, string>();

  constructor(work: ReadBatch) {
    this.#work = work;
  }

  /** The recipients of a chunk; undefined where they can never be read, which holds up no other chunk. */
  async chunk(number: number): Promise<Chunk | undefined> {
    try {
      return await this.#read(number);
    } catch (error) {
      if (!(error instanceof UnreadableChunkError)) throw error;
      this.#unreadable.set(number, error.message);
      return undefined;
    }
  }

  isUnreadable(chunk: number): boolean {
    return this.#unreadable.has(chunk);
  }

  /** The end of a batch that has recipients left who can never be read. */
  get unreadable(): Stop | undefined {
    const [why] = this.#unreadable.values();
    if (why === undefined) return undefined;
    const lost = this.#work.states.filter(({ chunk }) => this.isUnreadable(chunk));
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

  async #read(number: number): Promise<Chunk> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened?.chunk === number) return opened;
    const { batch, deps } = this.#work;
    const { email_id, batch_id } = batch;
    if (!this.#ahead.has(number)) {
      const found = await this.#work.storage('read the recipients of chunks', () =>
        deps.chunks.readChunks(email_id, batch_id, number, this.#lastToRead(number)),
      );
      this.#ahead = new Map(found.map((sealed) => [sealed.chunk, sealed]));
    }
    const sealed = this.#ahead.get(number);
    if (sealed === undefined) throw new UnreadableChunkError(`Chunk ${number} of batch ${batch_id} is missing.`);
    const open = () =>
      sealed.open().catch((error: unknown) => {
        throw error instanceof UnreadableChunkError ? new StopRetrying(error) : error;
      });
    return this.#work.storage('open a chunk', open);
  }

  #lastToRead(from: number): number {
    const { states, deps } = this.#work;
    const end = from + deps.limits.read_ahead;
    const open = states.filter((state) => state.chunk < end && state.states.includes(RECIPIENT_STATES.pending));
    return Math.max(from, ...open.map(({ chunk }) => chunk));
  }
}
