import { changeUntil } from '../../model/changes.ts';
import {
  type Batch,
  type ChunkState,
  EXCLUDED_BATCH,
  LEFT,
  NO_RECIPIENTS,
  type ProgressSample,
  RECIPIENT_STATES,
  SHOWN_STATES,
  type ShownState,
  type StateCounts,
} from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import type { BatchStore, Change, ChunkStore } from '../model/ports.ts';
import type { NextState } from './chunk-changes.ts';

const SHOWN_BY_CODE: ReadonlyMap<string, ShownState> = new Map(
  Object.entries(RECIPIENT_STATES).map(([state, code]) => [
    code,
    SHOWN_STATES.find((one) => one === state) ?? 'pending',
  ]),
);

/** @throws Error for a character that is no state */
export function shownState(code: string): ShownState {
  const shown = SHOWN_BY_CODE.get(code);
  if (shown === undefined)
    throw new Error(`A chunk holds the recipient state ${JSON.stringify(code)}, which is unknown.`);
  return shown;
}

export function countStates(states: string): StateCounts {
  const counts: Record<ShownState, number> = { ...NO_RECIPIENTS };
  for (const code of states) counts[shownState(code)] += 1;
  return counts;
}

function addCounts(all: readonly StateCounts[]): StateCounts {
  const sum: Record<ShownState, number> = { ...NO_RECIPIENTS };
  for (const counts of all) for (const state of SHOWN_STATES) sum[state] += counts[state];
  return sum;
}

/** The columns of a batch that its chunks decide. They are absolute, so that writing them twice is harmless. */
export type BatchCounts = Pick<Batch, 'counts' | 'excluded_by_reason' | 'failed_by_reason' | 'uncertain_left'>;

export function countChunks(states: readonly ChunkState[]): BatchCounts {
  const excluded: Record<string, number> = {};
  const failed: Record<string, number> = {};
  let uncertain_left = 0;
  for (const { states: codes, reasons } of states) {
    for (const [n, reason] of Object.entries(reasons)) {
      const code = codes[Number(n)];
      if (code === RECIPIENT_STATES.excluded) excluded[reason] = (excluded[reason] ?? 0) + 1;
      else if (code === RECIPIENT_STATES.failed) failed[reason] = (failed[reason] ?? 0) + 1;
      else if (code === RECIPIENT_STATES.uncertain && reason === LEFT) uncertain_left += 1;
    }
  }
  return {
    counts: addCounts(states.map(({ states: codes }) => countStates(codes))),
    excluded_by_reason: excluded,
    failed_by_reason: failed,
    uncertain_left,
  };
}

export interface EmailCounts extends StateCounts {
  readonly recipients: number;
}

/**
 * The email's recipients by state: the sum over its batches, the excluded ones included. Until the preparation is done,
 * all that is known is how many members the count found. They add up at every read (docs/newsletters.md).
 */
export function countsOf(email: Email, batches: readonly Batch[]): EmailCounts {
  if (email.prepared === undefined) {
    // One that was cancelled before has nobody to send to.
    const recipients = email.status === 'cancelled' ? 0 : (email.email_count ?? 0);
    return { ...NO_RECIPIENTS, recipients, pending: recipients };
  }
  const sum = addCounts(batches.map(({ counts }) => counts));
  const { recipients } = email.prepared;
  return { ...sum, recipients, pending: recipients - sum.submitted - sum.excluded - sum.failed - sum.uncertain };
}

/** Recipients by reason, over all batches. */
export function reasonsOf(
  batches: readonly Batch[],
  column: 'excluded_by_reason' | 'failed_by_reason',
): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const batch of batches) {
    for (const [reason, count] of Object.entries(batch[column])) sum[reason] = (sum[reason] ?? 0) + count;
  }
  return sum;
}

/** The batches that are sent, without the one of the excluded recipients. */
export function sentBatches(batches: readonly Batch[]): readonly Batch[] {
  return batches.filter(({ batch_id }) => batch_id !== EXCLUDED_BATCH);
}

/** Changes a chunk, whatever others do to it at the same time; undefined from `change`: nothing to do. */
export async function changeState(
  state: ChunkState,
  change: (state: ChunkState) => NextState | undefined,
  { chunks }: { readonly chunks: Pick<ChunkStore, 'readState' | 'change'> },
): Promise<ChunkState> {
  const read = async () => {
    const found = await chunks.readState(state);
    if (found === undefined) throw new Error(`Chunk ${state.chunk} of batch ${state.batch_id} has no state.`);
    return found;
  };
  const { row, changed } = await changeUntil(read, change, chunks.change, { from: state });
  return changed ?? row;
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
  more: Change<Batch>['set'] = {},
): Promise<Batch | undefined> {
  const recounted = async (batch: Batch) => {
    const counted = countChunks((await chunks.states(email_id, batch_id)).slice(0, batch.chunks));
    return { set: { ...counted, status: statusAfter(batch, counted.counts.pending), ...more } };
  };
  return (await changeUntil(() => batches.read(email_id, batch_id), recounted, batches.change)).changed;
}

function statusAfter({ status }: Batch, pending: number): Batch['status'] {
  // A sender decides about its own batch.
  if (status === 'submitting') return status;
  if (pending === 0) return 'submitted';
  return status === 'submitted' ? 'pending' : status;
}

/** Seconds between two samples; the newest one moves until it has this distance from the one before it. */
const STEP_S = 10;
/** Enough for the last minute. */
const MOST = 8;
const WINDOW_S = 60;
/** Fewer seconds of sending say nothing about the rate. */
const LEAST_S = 5;

/** The samples of a batch after one more; a pause of more than a minute begins anew. */
export function withSample(
  samples: readonly ProgressSample[] = [],
  now: Date,
  done: number,
): readonly ProgressSample[] {
  const at = Math.floor(now.getTime() / 1000);
  const last = samples.at(-1);
  const before = samples.at(-2);
  if (last === undefined || at - last.at > WINDOW_S) return [{ at, done }];
  const kept = before !== undefined && last.at - before.at < STEP_S ? samples.slice(0, -1) : samples;
  return [...kept, { at, done }].slice(-MOST);
}

/** Recipients per second in the last minute, over all batches; undefined while too little is known. */
export function throughputOf(batches: readonly Pick<Batch, 'progress'>[], now: Date): number | undefined {
  const at = now.getTime() / 1000;
  const since = at - WINDOW_S;
  let done = 0;
  let from = Number.POSITIVE_INFINITY;
  for (const { progress = [] } of batches) {
    const first = progress[0];
    const last = progress.at(-1);
    if (first === undefined || last === undefined || last.at < since) continue;
    done += Math.max(0, last.done - doneAt(progress, since));
    from = Math.min(from, Math.max(first.at, since));
  }
  const seconds = at - from;
  return seconds < LEAST_S || !Number.isFinite(seconds) ? undefined : done / seconds;
}

/** Between two samples, recipients are spread evenly. */
function doneAt(samples: readonly ProgressSample[], at: number): number {
  const after = samples.findIndex((sample) => sample.at >= at);
  const next = samples[after];
  const before = samples[after - 1];
  if (next === undefined) return samples.at(-1)?.done ?? 0;
  if (before === undefined) return next.done;
  return before.done + ((next.done - before.done) * (at - before.at)) / (next.at - before.at);
}
