import { changeState, refreshBatch } from '../accounting/change-state.ts';
import { applyOutcome } from '../accounting/chunk-changes.ts';
import { reopen } from '../lifecycle/advance.ts';
import type { ResolveDeps } from '../lifecycle/resolve.ts';
import type { ChunkKey, ChunkState } from '../model/chunk.ts';
import type { CallOutcome, SendMessage } from '../model/email-message.ts';
import { retryStorage, StorageUnavailableError } from '../storage/retry-storage.ts';
import type { SendDeps } from './send-deps.ts';

/** What is kept of an invocation for the queue, when storage does not take an outcome. */
const QUEUE_MS = 5_000;

/**
 * - state: recorded
 * - late: someone else took the call for lost; the queue has the outcome now, because the batch and its email may have
 *   ended meanwhile, and a message is repeated until all of them are told
 * - down: storage did not take it before the invocation's time ends; the queue has it
 */
export type Recorded = ChunkState | 'late' | 'down';

/**
 * Records what the provider answered, with the retries after sending. What neither storage nor the queue takes is
 * uncertain.
 */
export async function recordOutcome(state: ChunkState, outcome: CallOutcome, deps: SendDeps): Promise<Recorded> {
  const { limits, queues, remaining_ms } = deps;
  const retry = (what: string, reserve_ms: number) => ({
    what,
    tries: limits.storage_after_sending,
    left_ms: () => remaining_ms() - reserve_ms,
  });
  const toQueue = () => {
    const message = { version: 1, kind: 'record', ...keyOf(state), outcome } as const;
    return retryStorage(() => queues.send(message), retry('queue the outcome of a call', 0), deps);
  };
  try {
    const record = retry('record the outcome of a call', QUEUE_MS);
    const recorded = await retryStorage(() => writeOpen(state, outcome, deps), record, deps);
    if (recorded !== undefined) return recorded;
  } catch (error) {
    if (!(error instanceof StorageUnavailableError)) throw error;
    await toQueue();
    return 'down';
  }
  await toQueue();
  return 'late';
}

/** Applies the outcome while its call is open; undefined when it is not. */
async function writeOpen(
  state: ChunkState,
  outcome: CallOutcome,
  { chunks }: SendDeps,
): Promise<ChunkState | undefined> {
  for (let current: ChunkState | undefined = state; current?.call?.call_id === outcome.call_id; ) {
    const next = applyOutcome(current, outcome);
    const changed = next && (await chunks.change(current, next));
    if (changed !== undefined) return changed;
    current = await chunks.readState(keyOf(current));
  }
  return undefined;
}

export function keyOf({ email_id, batch_id, chunk }: ChunkKey): ChunkKey {
  return { email_id, batch_id, chunk };
}

export type RecordMessage = Extract<SendMessage, { kind: 'record' }>;

/**
 * Records an outcome that storage did not take when the call ended. It may come again, and after the recipients were
 * taken for uncertain. The counts are written in any case: an earlier try may have ended before them.
 */
export async function recordLate(
  { outcome, ...key }: RecordMessage,
  deps: Omit<ResolveDeps, 'events' | 'newId'>,
): Promise<void> {
  const { email_id, batch_id, chunk } = key;
  const state = await deps.chunks.readState({ email_id, batch_id, chunk });
  if (state === undefined) return;
  await changeState(state, (found) => applyOutcome(found, outcome), deps);
  const batch = await refreshBatch(email_id, batch_id, deps);
  if (batch !== undefined && batch.status === 'pending' && batch.counts.pending > 0) await reopen(email_id, deps);
}
