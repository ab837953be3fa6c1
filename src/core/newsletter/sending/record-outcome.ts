import { changeUntil, LEASE } from '../../model/changes.ts';
import { epochMs } from '../../model/time.ts';
import { acceptUncertain, applyOutcome, changeState } from '../accounting/chunk-changes.ts';
import { refreshBatch } from '../accounting/counts.ts';
import { reopen } from '../lifecycle/advance.ts';
import type { ResolveDeps } from '../lifecycle/resolve.ts';
import { type ChunkKey, type ChunkState, placeInBatch } from '../model/batch.ts';
import type { CallOutcome, SendMessage } from '../model/email-message.ts';
import { retryStorage, StorageUnavailableError } from '../model/job-limits.ts';
import { hadFirst, RECIPIENT_STATES, SENT_AGAIN, showsMail } from '../model/recipient-state.ts';
import { givenUp, type Stop, stepAtEnd } from './batch-step.ts';
import { BatchLostError, type HeldBatch } from './held-batch.ts';
import { failRefused } from './note-answer.ts';
import { noRefused } from './refused-recipients.ts';
import type { SendDeps } from './send-deps.ts';

/** What is kept of an invocation for the queue, when storage does not take an outcome. */
const QUEUE_MS = 5_000;

/**
 * Records the answer, with the retries after sending. What neither storage nor the queue takes is uncertain.
 * @throws StorageUnavailableError storage did not take it before the invocation's time ends; the queue has it
 * @throws BatchLostError someone else took the call for lost; the queue has the outcome now, because the batch and its
 * email may have ended meanwhile, and a message is repeated until all of them are told
 */
export async function recordOutcome(state: ChunkState, outcome: CallOutcome, deps: SendDeps): Promise<ChunkState> {
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
  const record = retry('record the outcome of a call', QUEUE_MS);
  const recorded = await retryStorage(() => writeOpen(state, outcome, deps), record, deps).catch(
    async (error: unknown) => {
      if (error instanceof StorageUnavailableError) await toQueue();
      throw error;
    },
  );
  if (recorded !== undefined) return recorded;
  await toQueue();
  throw new BatchLostError('The call was taken for lost.');
}

/** Applies the outcome while its call is open; undefined when it is not. */
async function writeOpen(
  state: ChunkState,
  outcome: CallOutcome,
  { chunks }: SendDeps,
): Promise<ChunkState | undefined> {
  const applied = (found: ChunkState) =>
    found.call?.call_id === outcome.call_id ? applyOutcome(found, outcome) : undefined;
  return (await changeUntil(() => chunks.readState(keyOf(state)), applied, chunks.change, { from: state })).changed;
}

export const keyOf = ({ email_id, batch_id, chunk }: ChunkKey): ChunkKey => ({ email_id, batch_id, chunk });

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

/**
 * Ends the batch if nothing is left to send: submitted, whatever became of single recipients. Failed, if somebody is left
 * whom only a retry sends. Otherwise says when to go on. The chunks are read again, as others may have changed them.
 */
export async function finishBatch(held: HeldBatch): Promise<Stop | undefined> {
  const { reader, deps } = held;
  const { clock, limits } = deps;
  for (;;) {
    await held.reload();
    await acceptFromEvents(held);
    const step = stepAtEnd(held.known, (chunk) => reader.isUnreadable(chunk), clock(), limits);
    if (step?.kind === 'fail-refused') {
      await failRefused(held);
      continue;
    }
    if (step !== undefined) return step;
    held.note({ refused: noRefused(held.known.refused) });
    const failed = reader.unreadable ?? givenUp(held.known, limits);
    if (failed !== undefined) return failed;
    const done = await held.trySave({
      set: { status: 'submitted', provider_failures: 0 },
      remove: [...LEASE, 'not_before', 'error_status_code', 'error_message', 'error_data'],
    });
    if (done) return undefined;
  }
}

/**
 * Events may have shown that the provider accepted an uncertain recipient, or the first mail of one that is sent to
 * again. They write their bits first and look at the states then; here the states come first, so one of both sees the
 * other.
 */
export async function acceptFromEvents(held: HeldBatch): Promise<void> {
  const { batch, states } = held.known;
  const { email_id, batch_id, resent } = batch;
  const { events } = held.deps;
  const open = states.filter(({ states: codes }) => resent || codes.includes(RECIPIENT_STATES.uncertain));
  if (open.length === 0) return;
  const { bits } = await held.storage('read the events of a batch', () => events.read(email_id, batch_id));
  for (const state of open) {
    const known = acceptUncertain(state, (n) => showsMail({ bits }, placeInBatch(state.chunk, n)));
    const first = (n: number) => hadFirst(bits, placeInBatch(state.chunk, n));
    const next = (resent && acceptUncertain({ ...state, ...known }, first, SENT_AGAIN)) || known;
    await held.write('accept what events show', state, next);
  }
}

/** Milliseconds until a time; 0 when it has passed. */
export const msUntil = (iso: string, now: Date): number => Math.max(0, epochMs(iso) - now.getTime());
