import { applyOutcome } from '../accounting/chunk-changes.ts';
import type { ChunkKey, ChunkState } from '../model/chunk.ts';
import type { CallOutcome } from '../model/email-message.ts';
import type { ChunkStore } from '../model/ports.ts';
import { retryStorage, StorageUnavailableError } from '../storage/retry-storage.ts';
import type { SendDeps } from './send-deps.ts';

/** What is kept of an invocation for the queue, when storage does not take an outcome. */
const QUEUE_MS = 5_000;

/** Applies the outcome of a call to a chunk, whatever happened to the chunk since. */
export async function writeOutcome(
  state: ChunkState,
  outcome: CallOutcome,
  chunks: Pick<ChunkStore, 'change' | 'readState'>,
): Promise<ChunkState> {
  let current = state;
  for (;;) {
    const next = applyOutcome(current, outcome);
    if (next === undefined) return current;
    const changed = await chunks.change(current, next);
    if (changed !== undefined) return changed;
    const found = await chunks.readState(keyOf(current));
    if (found === undefined) throw new Error(`Chunk ${current.chunk} of batch ${current.batch_id} has no state.`);
    current = found;
  }
}

/**
 * Records what the provider answered, with the retries after sending. When storage does not take it before the
 * invocation's time ends, the queue does: undefined. What neither takes is uncertain.
 */
export async function recordOutcome(
  state: ChunkState,
  outcome: CallOutcome,
  deps: SendDeps,
): Promise<ChunkState | undefined> {
  const { limits, queues, remaining_ms } = deps;
  const retry = (what: string, reserve_ms: number) => ({
    what,
    tries: limits.storage_after_sending,
    left_ms: () => remaining_ms() - reserve_ms,
  });
  try {
    return await retryStorage(
      () => writeOutcome(state, outcome, deps.chunks),
      retry('record the outcome of a call', QUEUE_MS),
      deps,
    );
  } catch (error) {
    if (!(error instanceof StorageUnavailableError)) throw error;
    const message = { version: 1, kind: 'record', ...keyOf(state), outcome } as const;
    await retryStorage(() => queues.send(message), retry('queue the outcome of a call', 0), deps);
    return undefined;
  }
}

export function keyOf({ email_id, batch_id, chunk }: ChunkKey): ChunkKey {
  return { email_id, batch_id, chunk };
}
