import { isoAfter } from '../../model/time.ts';
import { placesOf } from '../accounting/chunk-changes.ts';
import { countChunks } from '../accounting/counts.ts';
import type { Batch } from '../model/batch.ts';
import { type Chunk, type ChunkKey, type ChunkState, UnreadableChunkError } from '../model/chunk.ts';
import type { Email, EmailContent } from '../model/email.ts';
import type { Change, SealedChunk } from '../model/ports.ts';
import { RECIPIENT_STATES } from '../model/recipient-state.ts';
import { retryStorage, StopRetrying } from '../storage/retry-storage.ts';
import { withSample } from '../views/throughput.ts';
import { ExclusionChecks } from './exclusion-checks.ts';
import type { SendDeps } from './send-deps.ts';
import type { Stop } from './stop.ts';

/** Another sender took the batch over. */
export class BatchLostError extends Error {
  override readonly name = 'BatchLostError';
}

/** A batch in the hands of its sender: the row that it holds by an expiring claim, and the states of its chunks. */
export class BatchWork {
  /** As it was read last. */
  email: Email;
  readonly content: EmailContent;
  readonly slot: string;
  readonly deps: SendDeps;
  batch: Batch;
  states: readonly ChunkState[] = [];
  /** Recipients whose mail was refused alone before anything of the batch was accepted. */
  suspects = 0;
  /** A whole pass made nobody's mail accepted, nor enough suspects: they are judged one by one. */
  judges_alone: boolean;
  /** Refusals of whole calls in a row. */
  provider_failures: number;
  /** Calls without an answer, in a row. */
  unanswered: number;
  /** The email holds because the provider answers nobody: this sender tries it with one recipient. */
  probes: boolean;
  /** The provider has answered a call, since the batch has its slot or since the last pause. */
  was_answered = false;
  #checked_at: number;
  #saved_at: number;
  /** The recipients of this chunk and of some that follow it. */
  #ahead: ReadonlyMap<number, SealedChunk> = new Map();
  /** The next one of them, decrypted. */
  #opened: Chunk | undefined;
  readonly checks = new ExclusionChecks();
  /** Chunks that can never be read, and why. */
  readonly #unreadable = new Map<number, string>();

  constructor(claimed: { email: Email; content: EmailContent; batch: Batch; slot: string }, deps: SendDeps) {
    this.email = claimed.email;
    this.content = claimed.content;
    this.slot = claimed.slot;
    this.batch = claimed.batch;
    this.deps = deps;
    this.judges_alone = claimed.batch.judges_alone ?? false;
    this.provider_failures = claimed.batch.provider_failures ?? 0;
    this.unanswered = claimed.email.silence?.calls ?? 0;
    this.probes = claimed.email.silence?.until !== undefined;
    this.#checked_at = deps.clock().getTime();
    this.#saved_at = this.#checked_at;
  }

  /** A storage call before sending, retried as the source says. */
  storage<T>(what: string, run: () => Promise<T>): Promise<T> {
    const { limits, remaining_ms } = this.deps;
    return retryStorage(run, { what, tries: limits.storage_before_sending, left_ms: remaining_ms }, this.deps);
  }

  async reload(): Promise<void> {
    const { email_id, batch_id, chunks } = this.batch;
    const states = await this.storage('read the states of a batch', () => this.deps.chunks.states(email_id, batch_id));
    this.states = states.slice(0, chunks);
  }

  async reloadState(key: ChunkKey): Promise<ChunkState> {
    const state = await this.storage('read the state of a chunk', () => this.deps.chunks.readState(key));
    if (state === undefined) throw new Error(`Chunk ${key.chunk} of batch ${key.batch_id} has no state.`);
    this.keep(state);
    return state;
  }

  keep(state: ChunkState): void {
    this.states = this.states.map((known) => (known.chunk === state.chunk ? state : known));
  }

  /**
   * The recipients of a chunk; undefined where they can never be read, which holds up no other chunk. One read brings
   * those of the next chunks that have somebody to send to, too.
   */
  async chunk(number: number): Promise<Chunk | undefined> {
    try {
      return await this.#readChunk(number);
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
    const lost = this.states.filter(({ chunk }) => this.isUnreadable(chunk));
    const count = lost.reduce((sum, { states }) => sum + placesOf(states, RECIPIENT_STATES.pending).length, 0);
    return {
      kind: 'fail',
      refusal: { class: 'settings', reason: 'unreadable_recipients', message: why },
      what: `Nobody can read ${count} recipients of the batch any more`,
    };
  }

  async #readChunk(number: number): Promise<Chunk> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened?.chunk === number) return opened;
    const { email_id, batch_id } = this.batch;
    if (!this.#ahead.has(number)) {
      const found = await this.storage('read the recipients of chunks', () =>
        this.deps.chunks.readChunks(email_id, batch_id, number, this.#lastToRead(number)),
      );
      this.#ahead = new Map(found.map((sealed) => [sealed.chunk, sealed]));
    }
    const sealed = this.#ahead.get(number);
    if (sealed === undefined) throw new UnreadableChunkError(`Chunk ${number} of batch ${batch_id} is missing.`);
    const open = () =>
      sealed.open().catch((error: unknown) => {
        throw error instanceof UnreadableChunkError ? new StopRetrying(error) : error;
      });
    return this.storage('open a chunk', open);
  }

  /** The recipients of a chunk that an earlier read brought along; undefined where that did not, or they do not open. */
  async chunkAtHand(number: number): Promise<Chunk | undefined> {
    this.#opened = await this.#ahead
      .get(number)
      ?.open()
      .catch(() => undefined);
    return this.#opened;
  }

  /** The next chunk that has somebody to send to. */
  nextOpen(number: number): ChunkState | undefined {
    return this.states.find(({ chunk, states }) => chunk > number && states.includes(RECIPIENT_STATES.pending));
  }

  #lastToRead(from: number): number {
    const end = from + this.deps.limits.read_ahead;
    const open = this.states.filter(({ chunk, states }) => chunk < end && states.includes(RECIPIENT_STATES.pending));
    return Math.max(from, ...open.map(({ chunk }) => chunk));
  }

  /** Writes counts when those that are stored are old: readers see progress, and a chunk costs one write less. */
  async saveInTime(): Promise<void> {
    const { clock, limits } = this.deps;
    if (clock().getTime() - this.#saved_at >= limits.counts_ms) await this.save();
  }

  /** Writes counts and a sign of life. @throws BatchLostError */
  async save(more: Change<Batch> = { set: {} }): Promise<void> {
    while (!(await this.trySave(more))) await this.reload();
  }

  /**
   * False when someone else wrote the row meanwhile: the states that the counts were made of may be old, too.
   * @throws BatchLostError
   */
  async trySave({ set, remove = [] }: Change<Batch>): Promise<boolean> {
    const { batches, clock, limits } = this.deps;
    const provider_id = this.batch.provider_id ?? firstMessageId(this.states);
    const counted = countChunks(this.states);
    const { pending, ...done } = counted.counts;
    const progress = withSample(
      this.batch.progress,
      clock(),
      Object.values(done).reduce((sum, count) => sum + count, 0),
    );
    const changed = await this.storage('write the counts of a batch', () =>
      batches.change(this.batch, {
        set: {
          ...counted,
          progress,
          ...(!remove.includes('claim_until') && { claim_until: isoAfter(clock(), limits.claim_ms) }),
          provider_failures: this.provider_failures,
          ...(provider_id !== undefined && { provider_id }),
          // Another sender may go on.
          ...(this.judges_alone && { judges_alone: true }),
          ...set,
        },
        remove,
      }),
    );
    if (changed !== undefined) {
      this.batch = changed;
      this.#saved_at = clock().getTime();
      return true;
    }
    const { email_id, batch_id, claim_id } = this.batch;
    const found = await this.storage('read a batch', () => batches.read(email_id, batch_id));
    if (found === undefined || found.claim_id !== claim_id) throw new BatchLostError('Another sender has the batch.');
    this.batch = found;
    return false;
  }

  /** Whether a refusal of one mail alone is its recipient's, and not the post's. */
  get post_is_known(): boolean {
    return this.judges_alone || this.is_accepted;
  }

  get is_accepted(): boolean {
    return this.states.some(({ states }) => states.includes(RECIPIENT_STATES.submitted));
  }

  /** A sign of life when the last one is old. */
  async beat(): Promise<void> {
    const { clock, limits } = this.deps;
    if ((this.batch.claim_until ?? '') < isoAfter(clock(), limits.claim_ms / 2)) await this.save();
  }

  /** Whether the email still wants this batch sent in this slot, and by this sender while it holds; looked at every few seconds. */
  async isWanted(): Promise<boolean> {
    const { emails, clock, limits } = this.deps;
    if (clock().getTime() - this.#checked_at < limits.email_check_ms) return true;
    const email = await this.storage('read the email', () => emails.read(this.email.email_id));
    this.#checked_at = clock().getTime();
    if (email === undefined) return false;
    this.email = email;
    const others = email.silence?.until !== undefined && !this.probes;
    return !others && isWanted(email, this.slot, this.batch.batch_id);
  }
}

export function isWanted({ status, paused, slots }: Email, slot: string, batch_id: string): boolean {
  return status === 'submitting' && !paused && slots[slot]?.batch_id === batch_id;
}

function firstMessageId(states: readonly ChunkState[]): string | undefined {
  for (const { message_ids } of states) for (const id of Object.values(message_ids)) return id;
  return undefined;
}
