import { clip } from '../../model/text.ts';
import {
  type Batch,
  batchId,
  type Chunk,
  type ChunkState,
  EXCLUDED_BATCH,
  type ExclusionReason,
  NO_RECIPIENTS,
  RECIPIENT_STATES,
  type Recipient,
} from '../model/batch.ts';
import type { Email, Preparation } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import type { SegmentSubject } from '../model/member.ts';
import type { PartSegment } from './ports.ts';

/** Characters of the shown parts' segments on the row, which stays below a write unit. */
const SEGMENT = 200;

/** Chunks with their first states, and the batch row that commits them; excluded recipients have no row of their own. */
export interface Commit {
  readonly chunks: readonly { readonly chunk: Chunk; readonly state: ChunkState }[];
  readonly batch?: Batch;
}

/** What decides into which batch a recipient goes. */
export interface BatchKey {
  readonly rendering: number;
  readonly member_segment: string;
  readonly fallback_sending_domain: boolean;
  readonly warmed_domain?: string;
}

/** One bit per part, so that a rendering keeps its number however the pass is interrupted. */
export function renderingKey(
  parts: readonly PartSegment[],
  member: SegmentSubject,
): Pick<BatchKey, 'rendering' | 'member_segment'> {
  const shown = parts.map(({ matches }) => matches(member));
  return {
    rendering: shown.reduce((bits, shows, i) => bits + (shows ? 2 ** i : 0), 0),
    // For people: the row is written every few seconds, and paid by its size.
    member_segment: clip(
      parts
        .filter((_, i) => shown[i])
        .map(({ segment }) => segment)
        .join(' '),
      SEGMENT,
    ),
  };
}

interface OpenBatch extends BatchKey {
  readonly batch_id: string;
  recipients: Recipient[];
}

/**
 * The batches that are being filled: one per rendering and sending domain. Numbers are given in the order of the pass,
 * so a repeated pass over the same members gives the same.
 */
export class OpenBatches {
  readonly #email: Email;
  readonly #limits: JobLimits;
  readonly #now: () => string;
  readonly #open = new Map<string, OpenBatch>();
  #excluded: { recipient: Recipient; reason: ExclusionReason }[] = [];
  #next_batch: number;
  #next_excluded_chunk: number;

  constructor(email: Email, from: Preparation, limits: JobLimits, now: () => string) {
    this.#email = email;
    this.#limits = limits;
    this.#now = now;
    this.#next_batch = from.next_batch;
    this.#next_excluded_chunk = from.next_excluded_chunk;
  }

  get numbers(): Pick<Preparation, 'next_batch' | 'next_excluded_chunk'> {
    return { next_batch: this.#next_batch, next_excluded_chunk: this.#next_excluded_chunk };
  }

  /** @returns what is to be committed, when a batch is full */
  add(recipient: Recipient, key: BatchKey): Commit | undefined {
    const name = `${key.rendering} ${key.fallback_sending_domain}`;
    const batch = this.#open.get(name) ?? { ...key, batch_id: batchId(this.#next_batch++), recipients: [] };
    this.#open.set(name, batch);
    batch.recipients.push(recipient);
    if (batch.recipients.length < this.#limits.batch_size) return undefined;
    this.#open.delete(name);
    return this.#commit(batch);
  }

  exclude(recipient: Recipient, reason: ExclusionReason): Commit | undefined {
    this.#excluded.push({ recipient, reason });
    return this.#excluded.length < this.#limits.chunk_size ? undefined : this.#commitExcluded();
  }

  /** Everything that is still open. */
  flush(): readonly Commit[] {
    const commits = [...this.#open.values()].map((batch) => this.#commit(batch));
    this.#open.clear();
    return this.#excluded.length > 0 ? [...commits, this.#commitExcluded()] : commits;
  }

  #commit({ recipients, ...batch }: OpenBatch): Commit {
    const { email_id, tenant_id } = this.#email;
    const { chunk_size } = this.#limits;
    const chunks = Array.from({ length: Math.ceil(recipients.length / chunk_size) }, (_, chunk) => {
      const part = recipients.slice(chunk * chunk_size, (chunk + 1) * chunk_size);
      const key = { email_id, batch_id: batch.batch_id, chunk };
      return { chunk: { ...key, tenant_id, recipients: part }, state: firstState(key, part.length) };
    });
    return {
      chunks,
      batch: {
        ...batchRow(this.#email, this.#now()),
        ...batch,
        status: 'pending',
        chunks: chunks.length,
        counts: { ...NO_RECIPIENTS, pending: recipients.length },
      },
    };
  }

  #commitExcluded(): Commit {
    const { email_id, tenant_id } = this.#email;
    const key = { email_id, batch_id: EXCLUDED_BATCH, chunk: this.#next_excluded_chunk++ };
    const recipients = this.#excluded.map(({ recipient }) => recipient);
    const reasons = Object.fromEntries(this.#excluded.map(({ reason }, n) => [n, reason]));
    this.#excluded = [];
    const state = { ...firstState(key, 0), states: RECIPIENT_STATES.excluded.repeat(recipients.length), reasons };
    return { chunks: [{ chunk: { ...key, tenant_id, recipients }, state }] };
  }
}

/** The row of the excluded recipients; it counts what the chunks hold. */
export function excludedBatch(
  email: Email,
  { next_excluded_chunk, excluded, excluded_by_reason }: Preparation,
  at: string,
): Batch {
  return {
    ...batchRow(email, at),
    batch_id: EXCLUDED_BATCH,
    status: 'submitted',
    rendering: 0,
    member_segment: '',
    fallback_sending_domain: false,
    chunks: next_excluded_chunk,
    counts: { ...NO_RECIPIENTS, excluded },
    excluded_by_reason,
  };
}

function batchRow({ email_id, tenant_id }: Email, at: string) {
  return {
    email_id,
    tenant_id,
    version: 1,
    excluded_by_reason: {},
    failed_by_reason: {},
    created_at: at,
    updated_at: at,
  };
}

function firstState(key: Pick<ChunkState, 'email_id' | 'batch_id' | 'chunk'>, count: number): ChunkState {
  const states = RECIPIENT_STATES.pending.repeat(count);
  return { ...key, version: 1, states, reasons: {}, tries: {}, unanswered: {}, message_ids: {}, processed: {} };
}
