import { changeUntil } from '../../model/changes/change-until.ts';
import { LEASE } from '../../model/changes/lease.ts';
import { epochMs, isoAfter } from '../../model/time.ts';
import { acceptUncertain, applyOutcome, changeState, placesOf } from '../accounting/chunk-changes.ts';
import { refreshBatch } from '../accounting/counts.ts';
import { reopen } from '../lifecycle/advance.ts';
import type { ResolveDeps } from '../lifecycle/resolve.ts';
import { type ChunkKey, type ChunkState, placeInBatch } from '../model/chunk.ts';
import type { CallOutcome, SendMessage } from '../model/email-message.ts';
import { pauseAfter, retryStorage, StorageUnavailableError } from '../model/job-limits.ts';
import { hadFirst, RECIPIENT_STATES, SENT_AGAIN, showsMail } from '../model/recipient-state.ts';
import type { BatchWork } from './batch-work.ts';
import { hasUsedUpTries } from './judge-answer.ts';
import { failRefused, holdFor } from './refused-for-all.ts';
import type { SendDeps, Stop } from './send-deps.ts';

/** What is kept of an invocation for the queue, when storage does not take an outcome. */
const QUEUE_MS = 5_000;

/**
 * - state: recorded
 * - late: someone else took the call for lost; the queue has the outcome now, because the batch and its email may have
 *   ended meanwhile, and a message is repeated until all of them are told
 * - down: storage did not take it before the invocation's time ends; the queue has it
 */
export type Recorded = ChunkState | 'late' | 'down';

/** Records the answer, with the retries after sending. What neither storage nor the queue takes is uncertain. */
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
export async function finishBatch(work: BatchWork): Promise<Stop | undefined> {
  for (;;) {
    await work.reload();
    await acceptFromEvents(work);
    const until = whenToGoOn(work);
    if (until !== undefined) return { kind: 'wait', until };
    if (work.states.some((state) => work.refused.in(state).size > 0)) {
      const stop = whatIsMissing(work);
      if (stop !== undefined) return stop;
      await failRefused(work);
      continue;
    }
    work.refused.clear();
    const refused = work.reader.unreadable ?? givenUp(work);
    if (refused !== undefined) return refused;
    const done = await work.trySave({
      set: { status: 'submitted', provider_failures: 0 },
      remove: [...LEASE, 'not_before', 'error_status_code', 'error_message', 'error_data'],
    });
    if (done) return undefined;
  }
}

/** For the recipients that are not at their end, the first time when one may be sent. */
function whenToGoOn(work: BatchWork): string | undefined {
  const now = work.deps.clock();
  const readable = work.states.filter(({ chunk }) => !work.reader.isUnreadable(chunk));
  return readable.flatMap((state) => timesOf(state, now, work)).sort()[0];
}

function timesOf(state: ChunkState, now: Date, { batch, refused, deps: { limits } }: BatchWork): string[] {
  const { states, tries, call } = state;
  return [...states].flatMap((code, n) => {
    if (code === RECIPIENT_STATES.claimed) return [call?.until ?? now.toISOString()];
    if (code !== RECIPIENT_STATES.pending || hasUsedUpTries(state, n, batch, limits)) return [];
    if (refused.has(state.chunk, n)) return [];
    const made = (tries[n] ?? 0) - (batch.tries_before ?? 0);
    return [made <= 0 ? now.toISOString() : isoAfter(now, pauseAfter(made, limits.provider))];
  });
}

/** Nobody is left but who was refused: others have to show first whether everybody is. */
function whatIsMissing(work: BatchWork): Stop | undefined {
  if (!work.refused.isTold) return { kind: 'aside' };
  const { for: why, reason = '', message = reason } = work.email.hold ?? {};
  // Nobody is left who could show it, and everybody was refused for the same before.
  return why === 'refused' && reason in work.refused.counts ? holdFor({ for: why, reason, message }, work) : undefined;
}

function givenUp({ states, batch, deps: { limits } }: BatchWork): Stop | undefined {
  const reasons = states.flatMap((state) =>
    placesOf(state.states, RECIPIENT_STATES.pending)
      .filter((n) => hasUsedUpTries(state, n, batch, limits))
      .map((n) => state.reasons[n] ?? 'refused'),
  );
  const [reason] = reasons;
  return reason === undefined
    ? undefined
    : {
        kind: 'fail',
        refusal: { class: 'transient', reason },
        what: `The provider refused ${reasons.length} of the batch for the time being, in all tries`,
      };
}

/**
 * Events may have shown that the provider accepted an uncertain recipient, or the first mail of one that is sent to
 * again. They write their bits first and look at the states then; here the states come first, so one of both sees the
 * other.
 */
export async function acceptFromEvents(work: BatchWork): Promise<void> {
  const { email_id, batch_id, resent } = work.batch;
  const { events } = work.deps;
  const open = work.states.filter(({ states }) => resent || states.includes(RECIPIENT_STATES.uncertain));
  if (open.length === 0) return;
  const { bits } = await work.storage('read the events of a batch', () => events.read(email_id, batch_id));
  for (const state of open) {
    const known = acceptUncertain(state, (n) => showsMail({ bits }, placeInBatch(state.chunk, n)));
    const first = (n: number) => hadFirst(bits, placeInBatch(state.chunk, n));
    const next = (resent && acceptUncertain({ ...state, ...known }, first, SENT_AGAIN)) || known;
    await work.write('accept what events show', state, next);
  }
}

/** Milliseconds until a time; 0 when it has passed. */
export const msUntil = (iso: string, now: Date): number => Math.max(0, epochMs(iso) - now.getTime());
