import { leaseLeftMs } from '../../model/changes.ts';
import { ExplainedError } from '../../model/problem.ts';
import type { NextState } from '../accounting/chunk-changes.ts';
import { countChunks, withSample } from '../accounting/counts.ts';
import { stopsAll } from '../lifecycle/holds.ts';
import type { BatchLease } from '../lifecycle/plan-slots.ts';
import type { Batch, ChunkKey, ChunkState } from '../model/batch.ts';
import type { Email, EmailContent } from '../model/email.ts';
import { storageOf } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import { foreignSenders } from '../model/senders.ts';
import { WarmedMails } from '../warming/domain-warming.ts';
import { begun, type Sending } from './batch-step.ts';
import { ExclusionChecks, RecipientReader } from './exclusion-checks.ts';
import { suspectsOf } from './refused-recipients.ts';
import type { SendDeps } from './send-deps.ts';

/** Another sender took the batch over. */
export class BatchLostError extends ExplainedError {
  override readonly name = 'BatchLostError';
}

interface ClaimedBatch {
  readonly email: Email;
  /** When the read of the email began: with repetitions by storage, that may be a minute ago. */
  readonly read_at: Date;
  readonly content: EmailContent;
  readonly lease: BatchLease;
  readonly slot: string;
}

/** A batch that its sender holds by a lease: its row, the states of its chunks, and what the sender has learned. */
export class HeldBatch {
  readonly content: EmailContent;
  readonly deps: SendDeps;
  readonly reader = new RecipientReader(this);
  readonly checks = new ExclusionChecks();
  readonly #lease: BatchLease;
  readonly #warmed: WarmedMails | undefined;
  #sending: Omit<Sending, 'batch'>;
  #checked_at: number;
  #allowed_at: number;
  #saved_at: number;
  #writing: Promise<unknown> = Promise.resolve();
  /** Someone else has written the row since the states were read: the next save has to read them again. */
  #is_outdated = false;

  constructor({ email, content, lease, slot, read_at }: ClaimedBatch, deps: SendDeps) {
    this.content = content;
    this.#lease = lease;
    this.deps = deps;
    this.storage = storageOf(deps);
    const { warmed_domain, claim_id = '' } = lease.row;
    this.#warmed = warmed_domain === undefined ? undefined : new WarmedMails(warmed_domain, claim_id, deps.warming);
    this.#sending = begun(email, lease.row, slot);
    this.#checked_at = read_at.getTime();
    this.#allowed_at = this.#checked_at;
    this.#saved_at = deps.clock().getTime();
  }

  /** What the sender knows now. */
  get known(): Sending {
    return { ...this.#sending, batch: this.#lease.row };
  }

  /** What the sender has learned. */
  note(learned: Partial<Omit<Sending, 'batch' | 'chunks' | 'slot'>>): void {
    this.#sending = { ...this.#sending, ...learned };
  }

  /** A storage call before sending, retried as the source says. */
  readonly storage: ReturnType<typeof storageOf>;

  async reload(): Promise<void> {
    const { email_id, batch_id, chunks } = this.#lease.row;
    const states = await this.storage('read the states of a batch', () => this.deps.chunks.states(email_id, batch_id));
    this.#sending = { ...this.#sending, chunks: states.slice(0, chunks) };
  }

  async reloadState(key: ChunkKey): Promise<ChunkState> {
    const state = await this.storage('read the state of a chunk', () => this.deps.chunks.readState(key));
    if (state === undefined) throw new Error(`Chunk ${key.chunk} of batch ${key.batch_id} has no state.`);
    this.keep(state);
    return state;
  }

  /** Writes a change of a chunk. If another write came first, that is read, and the change is not made. */
  async write(what: string, state: ChunkState, next: NextState | undefined): Promise<void> {
    if (next === undefined) return;
    const changed = await this.storage(what, () => this.deps.chunks.change(state, next));
    if (changed !== undefined) this.keep(changed);
    else await this.reloadState(state);
  }

  keep(state: ChunkState): void {
    const chunks = this.#sending.chunks.map((known) => (known.chunk === state.chunk ? state : known));
    this.#sending = { ...this.#sending, chunks };
  }

  /** Writes the counts at an interval and not for each chunk: readers see progress, and most chunks cost a write less. */
  async saveInTime(): Promise<void> {
    const { clock, limits } = this.deps;
    if (clock().getTime() - this.#saved_at >= limits.counts_ms) await this.save();
  }

  /** Writes the counts, which renews the lease. @throws BatchLostError */
  async save(more: Change<Batch> = { set: {} }): Promise<void> {
    while (!(await this.trySave(more))) await this.reload();
  }

  /** False when someone else wrote the row: the states that were counted may be old, too. @throws BatchLostError */
  trySave(change: Change<Batch>): Promise<boolean> {
    return this.#alone(() => this.#trySave(change));
  }

  async #trySave({ set, remove = [] }: Change<Batch>): Promise<boolean> {
    if (this.#is_outdated) {
      this.#is_outdated = false;
      return false;
    }
    const { clock } = this.deps;
    const { batch, chunks, refused, provider_failures } = this.known;
    const provider_id = batch.provider_id ?? firstMessageId(chunks);
    const counted = countChunks(chunks);
    const { pending, ...done } = counted.counts;
    const progress = withSample(
      batch.progress,
      clock(),
      Object.values(done).reduce((sum, count) => sum + count, 0),
    );
    const suspects = suspectsOf(refused);
    const saved = await this.storage('write the counts of a batch', () =>
      this.#lease.tryChange({
        set: {
          ...counted,
          progress,
          provider_failures,
          ...(provider_id !== undefined && { provider_id }),
          // Another sender may go on.
          ...(suspects && { suspects }),
          ...set,
        },
        remove: suspects === undefined && batch.suspects !== undefined ? [...remove, 'suspects'] : remove,
      }),
    );
    if (this.#lease.lost) throw new BatchLostError('Another sender has the batch.');
    if (saved) this.#saved_at = clock().getTime();
    return saved;
  }

  /** Mails of the domain that is warmed; undefined where none is, or the batch goes out by the fallback domain. */
  get warmed(): WarmedMails | undefined {
    return this.#lease.row.fallback_sending_domain ? undefined : this.#warmed;
  }

  /** Gives back the mails of the warmed domain that were reserved and not sent. */
  async endWarming(): Promise<void> {
    await this.#warmed?.end();
  }

  /** Renews the lease at an interval, also during a call, a pause or a repetition. @returns ends that */
  keepLease(): () => void {
    return this.deps.repeat(this.deps.limits.renew_ms, () => this.#alone(() => this.#renew()));
  }

  /** Renews the lease, unless a save has just done so. A renewal that fails is left to the next one. */
  async #renew(): Promise<void> {
    const { clock, limits } = this.deps;
    const { row } = this.#lease;
    const isYoung = leaseLeftMs(row, clock()) > limits.sender_lease_ms - limits.renew_ms;
    if (row.claim_id === undefined || isYoung) return;
    if (!(await this.#lease.tryChange({ set: {} })) && !this.#lease.lost) this.#is_outdated = true;
  }

  /** Makes one write of the row at a time: our own renewal would look like another writer to a save under way. */
  #alone<T>(run: () => Promise<T>): Promise<T> {
    const after = this.#writing.then(run, run);
    this.#writing = after.catch(() => undefined);
    return after;
  }

  /** Whether the email still wants this batch sent in this slot, and by this sender while it holds; looked at every few seconds. */
  async isWanted(): Promise<boolean> {
    const { emails, clock, limits } = this.deps;
    const isOld = () => clock().getTime() - this.#checked_at >= limits.email_check_ms;
    if (!isOld()) return true;
    // A read whose answer took long may show a row that is too old, too.
    for (let reads = 0; reads < 3 && isOld(); reads++) {
      const at = clock().getTime();
      const { email_id } = this.#sending.email;
      const email = await this.storage('read the email', () => emails.read(email_id));
      if (email === undefined) return false;
      this.#checked_at = at;
      this.note({ email });
    }
    const { email, probing, slot, batch } = this.known;
    if (email.cancelled_at === undefined && ((stopsAll(email) && !probing) || !(await this.#isAllowed()))) return false;
    return isWanted(email, slot, batch.batch_id);
  }

  /** Whether the tenant may still be sent as; the next claim makes the email hold where it may not. */
  async #isAllowed(): Promise<boolean> {
    const { clock, limits, newsletters } = this.deps;
    if (clock().getTime() - this.#allowed_at < limits.sender_check_ms) return true;
    const foreign = await this.storage('read senders', () => foreignSenders(this.content.newsletter, newsletters));
    this.#allowed_at = clock().getTime();
    return foreign.length === 0;
  }
}

export function isWanted({ status, paused, slots }: Email, slot: string, batch_id: string): boolean {
  return status === 'submitting' && !paused && slots[slot]?.batch_id === batch_id;
}

function firstMessageId(states: readonly ChunkState[]): string | undefined {
  for (const { message_ids } of states) for (const id of Object.values(message_ids)) return id;
  return undefined;
}
