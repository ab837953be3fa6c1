import type { Chunk, ChunkState } from '../../src/core/newsletter/model/chunk.ts';
import type { BatchStore, ChunkStore, EmailStore, EventStore } from '../../src/core/newsletter/model/ports.ts';
import type { VirtualTime } from '../engine/virtual-time.ts';
import { MemoryChunks, MemoryEmails } from '../twins/newsletter-items.ts';

/** The units that storage calls cost. */
class UsedUnits {
  write = 0;
  read = 0;
}

const writes = (bytes: number) => Math.ceil(bytes / 1_024);
const reads = (bytes: number) => Math.ceil(bytes / 4_096);
/** A recipient of a chunk, compressed and sealed, and the rest of the item; of a state: SES's message id. */
const RECIPIENT_BYTES = 48;
const CHUNK_BYTES = 350;
const STATE_BYTES = 220;
const MESSAGE_ID_BYTES = 66;
const BATCH_BYTES = 900;

const chunkBytes = ({ recipients }: Chunk) => CHUNK_BYTES + recipients.length * RECIPIENT_BYTES;
function stateBytes({ states, message_ids, reasons }: Pick<ChunkState, 'states' | 'message_ids' | 'reasons'>): number {
  const ids = Object.keys(message_ids).length * MESSAGE_ID_BYTES;
  return STATE_BYTES + states.length + ids + Object.keys(reasons).length * 20;
}

/** The tables of newsletters: their twins, and what their calls cost. */
export class NewsletterTables {
  readonly units = new UsedUnits();
  readonly emails: EmailStore;
  readonly batches: BatchStore;
  readonly events: EventStore;
  readonly chunks: ChunkStore;

  constructor(time: VirtualTime) {
    const memory = new MemoryEmails(time.clock);
    const { store } = new MemoryChunks();
    const { units } = this;
    const wrote = <T>(count: number, answer: T): T => {
      units.write += count;
      return answer;
    };
    const read = <T>(count: number, answer: T): T => {
      units.read += count;
      return answer;
    };
    this.emails = {
      ...memory.emails,
      read: (id) => read(1, memory.emails.read(id)),
      content: (id) => read(2, memory.emails.content(id)),
      // The row, and its key in the active index.
      change: (email, change) => wrote(3, memory.emails.change(email, change)),
    };
    this.batches = {
      ...memory.batches,
      put: (batch) => wrote(1, memory.batches.put(batch)),
      read: (email, batch) => read(1, memory.batches.read(email, batch)),
      change: (batch, change) => wrote(1, memory.batches.change(batch, change)),
      list: async (email) => {
        const all = await memory.batches.list(email);
        return read(reads(all.length * BATCH_BYTES), all);
      },
      from: async (email, batch, limit) => {
        const some = await memory.batches.from(email, batch, limit);
        return read(reads(some.length * BATCH_BYTES), some);
      },
    };
    this.events = {
      ...memory.events,
      read: (email, batch) => read(1, memory.events.read(email, batch)),
      change: (events, bits) => wrote(1, memory.events.change(events, bits)),
    };
    this.chunks = {
      ...store,
      put: (chunks) => {
        for (const { chunk, state } of chunks) units.write += writes(chunkBytes(chunk)) + writes(stateBytes(state));
        return store.put(chunks);
      },
      readChunk: (key) => read(1, store.readChunk(key)),
      async readChunks(...range) {
        const found = await store.readChunks(...range);
        const chunks = await Promise.all(found.map((sealed) => sealed.open()));
        return read(reads(chunks.reduce((sum, chunk) => sum + chunkBytes(chunk), 0)), found);
      },
      readState: (key) => read(1, store.readState(key)),
      states: async (email, batch) => {
        const all = await store.states(email, batch);
        return read(reads(all.reduce((sum, state) => sum + stateBytes(state), 0)), all);
      },
      change: (state, next) => wrote(writes(stateBytes(next)), store.change(state, next)),
    };
  }
}
