import type { Chunk, ChunkKey, ChunkState } from '../../../core/newsletter/model/chunk.ts';
import type { ChunkStore } from '../../../core/newsletter/model/ports.ts';
import { VersionedItems } from './versioned-items.ts';

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
