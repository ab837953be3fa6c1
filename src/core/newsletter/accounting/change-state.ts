import type { ChunkState } from '../model/chunk.ts';
import type { ChunkStore } from '../model/ports.ts';
import type { NextState } from './chunk-changes.ts';

/** Changes a chunk, whatever others do to it at the same time; undefined from `change`: nothing to do. */
export async function changeState(
  state: ChunkState,
  change: (state: ChunkState) => NextState | undefined,
  { chunks }: { readonly chunks: Pick<ChunkStore, 'readState' | 'change'> },
): Promise<ChunkState> {
  let current = state;
  for (;;) {
    const next = change(current);
    if (next === undefined) return current;
    const changed = await chunks.change(current, next);
    if (changed !== undefined) return changed;
    const found = await chunks.readState(current);
    if (found === undefined) throw new Error(`Chunk ${current.chunk} of batch ${current.batch_id} has no state.`);
    current = found;
  }
}
