import { isOwnWrite, ofVersion } from '../../../src/adapters/dynamodb/table/writes.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import {
  type Batch,
  type Chunk,
  type ChunkKey,
  type ChunkState,
  EXCLUDED_BATCH,
} from '../../../src/core/newsletter/model/batch.ts';
import type { BatchEvents } from '../../../src/core/newsletter/model/batch-events.ts';
import type { Email, EmailContent } from '../../../src/core/newsletter/model/email.ts';
import type {
  BatchStore,
  Change,
  ChunkStore,
  EmailStore,
  EventStore,
} from '../../../src/core/newsletter/model/ports.ts';
import type { DomainWarming, WarmingStore } from '../../../src/core/newsletter/warming/domain-warming.ts';
import { holds } from './guards.ts';

/** Items with a version each, as DynamoDB keeps them: read and written by value, and listed by partition. */
class VersionedItems<T extends { readonly version: number }> {
  /** By partition: what a key begins with, up to its last `#`. */
  readonly #partitions = new Map<string, Map<string, T>>();

  get(key: string): T | undefined {
    return this.#partitions.get(partitionOf(key))?.get(key);
  }

  put(key: string, item: T): void {
    this.#keep(key, structuredClone(item));
  }

  delete(key: string): void {
    this.#partitions.get(partitionOf(key))?.delete(key);
  }

  /** The items of a partition, by key. */
  list(partition = ''): readonly T[] {
    const found = [...(this.#partitions.get(partition) ?? [])];
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
  }

  /** Makes the change if the item still has the version it was read with, or if it made the change already. */
  change(key: string, was: { readonly version: number }, change: Change<T>): T | undefined {
    const stored = this.get(key);
    if (!holds(ofVersion(was), stored)) return stored && isOwnWrite(stored, was, change) ? stored : undefined;
    const set = Object.entries(change.set).filter(([, value]) => value !== undefined);
    const next: Record<string, unknown> = { ...(stored ?? was), ...Object.fromEntries(set), version: was.version + 1 };
    for (const name of change.remove ?? []) delete next[String(name)];
    const item = structuredClone(next) as unknown as T;
    this.#keep(key, item);
    return item;
  }

  #keep(key: string, item: T): void {
    const partition = partitionOf(key);
    const items = this.#partitions.get(partition) ?? new Map<string, T>();
    this.#partitions.set(partition, items.set(key, item));
  }
}

const partitionOf = (key: string): string => key.slice(0, key.lastIndexOf('#') + 1);

/** The warming of sending domains in memory: a twin of the DynamoDB store that gives the same answers. */
export function createMemoryWarming(): WarmingStore {
  const items = new VersionedItems<DomainWarming>();
  return {
    read: async (domain) => items.get(domain),
    async write(warming) {
      const { domain, version: _, ...set } = warming;
      return items.change(domain, warming, { set }) !== undefined;
    },
  };
}

/** The table email_recipients in memory: a twin of the DynamoDB store that gives the same answers. */
export class MemoryChunks {
  readonly #chunks = new Map<string, Chunk>();
  readonly #states = new VersionedItems<ChunkState>();

  readonly store: ChunkStore = {
    put: async (chunks) => {
      for (const { chunk, state } of chunks) {
        this.#chunks.set(keyText(chunk), structuredClone(chunk));
        this.#states.put(keyText(chunk), state);
      }
    },
    readChunk: async (key) => this.#chunks.get(keyText(key)),
    readChunks: async (email_id, batch_id, from, to) =>
      [...this.#chunks.values()]
        .filter((chunk) => chunk.email_id === email_id && chunk.batch_id === batch_id)
        .filter(({ chunk }) => chunk >= from && chunk <= to)
        .sort((a, b) => a.chunk - b.chunk)
        .map((chunk) => ({ chunk: chunk.chunk, open: async () => chunk })),
    readState: async (key) => this.#states.get(keyText(key)),
    states: async (email_id, batch_id) => this.#states.list(`${email_id}#${batch_id}#`),
    change: async (state, next) => {
      const { email_id: _, batch_id: __, chunk: ___, version: ____, ...was } = state;
      const remove = (Object.keys(was) as (keyof typeof was)[]).filter((name) => !(name in next));
      return this.#states.change(keyText(state), state, { set: next, remove });
    },
  };
}

function keyText({ email_id, batch_id, chunk }: ChunkKey): string {
  return `${email_id}#${batch_id}#${String(chunk).padStart(5, '0')}`;
}

const PAGE = 50;

/** The tables emails and email_batches in memory: twins of the DynamoDB stores that give the same answers. */
export class MemoryEmails {
  readonly #rows = new VersionedItems<Email>();
  readonly #contents = new Map<string, EmailContent>();
  readonly #batches = new VersionedItems<Batch>();
  readonly #events = new VersionedItems<BatchEvents>();
  readonly #now: () => string;

  constructor(clock: Clock) {
    this.#now = () => clock().toISOString();
  }

  readonly emails: EmailStore = {
    create: async (email, content) => {
      const { email_id } = email;
      if (this.#rows.get(email_id) === undefined) {
        this.#contents.set(email_id, structuredClone(content));
        this.#rows.put(email_id, email);
      }
      return this.#rows.get(email_id) ?? email;
    },
    read: async (email_id) => this.#rows.get(email_id),
    content: async (email_id) => this.#contents.get(email_id),
    change: async (email, { set, remove = [] }) =>
      this.#rows.change(email.email_id, email, { set: { ...set, updated_at: this.#now() }, remove }),
    replace: async (email, change, content) => {
      const changed = await this.emails.change(email, change);
      if (changed !== undefined) this.#contents.set(email.email_id, structuredClone(content));
      return changed;
    },
    list: async (tenant_id, cursor) => {
      const place = ({ created_at, email_id }: Email) => `${created_at} ${email_id}`;
      const all = this.#rows
        .list()
        .filter((email) => email.tenant_id === tenant_id && (cursor === undefined || place(email) < cursor))
        .sort((a, b) => (place(a) < place(b) ? 1 : -1));
      const emails = all.slice(0, PAGE);
      const last = emails.at(-1);
      return { emails, ...(all.length > PAGE && last && { next_cursor: place(last) }) };
    },
    due: async (now, limit) => {
      const waiting = this.#rows.list().flatMap((email) => {
        const { active, next_at } = email;
        return active !== undefined && next_at !== undefined && next_at <= now ? [{ email, next_at }] : [];
      });
      const sorted = waiting.sort((a, b) => (a.next_at < b.next_at ? -1 : 1));
      return sorted.slice(0, limit).map(({ email }) => email);
    },
  };

  readonly batches: BatchStore = {
    put: async (batch) => this.#batches.put(`${batch.email_id}#${batch.batch_id}`, batch),
    read: async (email_id, batch_id) => this.#batches.get(`${email_id}#${batch_id}`),
    list: async (email_id) => this.#batches.list(`${email_id}#`),
    from: async (email_id, batch_id, limit) =>
      this.#batches
        .list(`${email_id}#`)
        .filter((batch) => batch.batch_id >= batch_id && batch.batch_id !== EXCLUDED_BATCH)
        .slice(0, limit),
    change: async (batch, { set, remove = [] }) =>
      this.#batches.change(`${batch.email_id}#${batch.batch_id}`, batch, {
        set: { ...set, updated_at: this.#now() },
        remove,
      }),
    remove: async (email_id, batch_ids) => {
      for (const batch_id of batch_ids) this.#batches.delete(`${email_id}#${batch_id}`);
    },
  };

  readonly events: EventStore = {
    read: async (email_id, batch_id) =>
      this.#events.get(`${email_id}#${batch_id}`) ?? { email_id, batch_id, version: 0, bits: {} },
    change: async (events, told) => this.#events.change(`${events.email_id}#${events.batch_id}`, events, { set: told }),
    list: async (email_id) => this.#events.list(`${email_id}#`),
  };
}
