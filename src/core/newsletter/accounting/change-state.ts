import type { Batch } from '../model/batch.ts';
import type { ChunkState } from '../model/chunk.ts';
import type { BatchStore, ChunkStore } from '../model/ports.ts';
import type { NextState } from './chunk-changes.ts';
import { countChunks } from './counts.ts';

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

export interface RefreshDeps {
  readonly batches: Pick<BatchStore, 'read' | 'change'>;
  readonly chunks: Pick<ChunkStore, 'states'>;
}

/**
 * Writes the counts of a batch anew after one of its chunks was changed by someone else than its sender. The row is read
 * before the chunks, so its version tells whether another count was written meanwhile. A batch that was done and has
 * something to send again waits for a sender.
 */
export async function refreshBatch(
  email_id: string,
  batch_id: string,
  { batches, chunks }: RefreshDeps,
): Promise<Batch | undefined> {
  for (;;) {
    const batch = await batches.read(email_id, batch_id);
    if (batch === undefined) return undefined;
    const counted = countChunks((await chunks.states(email_id, batch_id)).slice(0, batch.chunks));
    const changed = await batches.change(batch, {
      set: { ...counted, status: statusAfter(batch, counted.counts.pending) },
    });
    if (changed !== undefined) return changed;
  }
}

function statusAfter({ status }: Batch, pending: number): Batch['status'] {
  // A sender decides about its own batch.
  if (status === 'submitting') return status;
  if (pending === 0) return 'submitted';
  return status === 'submitted' ? 'pending' : status;
}
