import { changeUntil, isLeased, LEASE, Lease } from '../../model/changes.ts';
import { CHANNELS } from '../../model/channels.ts';
import type { ForeignRow } from '../../model/notification.ts';
import { epochMs } from '../../model/time.ts';
import type { DropReplaced } from '../dead-letters/dead-letter.ts';
import { ALWAYS, type Period } from '../search-filter.ts';
import { belongs, chooseAll } from './choose.ts';
import {
  added,
  applyRequestedStop,
  type Checkpoint,
  type Counts,
  cancelled,
  counted,
  failed,
  isActive,
  type Kind,
  NOTHING,
  type Operation,
  type OperationChange,
  type OperationRows,
  type OperationStore,
  type PageInWork,
  previewed,
  sourcesOf,
} from './operation.ts';
import { ClaimEndedError, type TakeDeps, takePage } from './take-page.ts';

export interface RunDeps extends TakeDeps {
  readonly operations: OperationStore;
  readonly candidates: OperationRows;
  readonly pause: (ms: number) => Promise<void>;
  readonly newId: () => string;
  /** Absent: they stay. */
  readonly dropReplaced?: DropReplaced;
}

type LookDeps = Pick<RunDeps, 'candidates' | 'clock' | 'policy'>;

/** A process that gives no sign of life within this time has crashed, and another one goes on. A page takes much less. */
export const OPERATION_CLAIM_MS = 15_000;
/** Rows in memory at once: a page, whatever the number of notifications that match. */
const MOST_ROWS = 100;
/** The seconds of its rate that a page holds: the rate holds for every second, and a pause is followed soon. */
const PAGE_SECONDS = 1;
const SAMPLE = 100;

/** `ended`: nothing is left to do. `stopped`: it was interrupted, and goes on when it is run again. `busy`: elsewhere. */
export type RunResult = 'ended' | 'stopped' | 'busy';

/**
 * Works on an operation page by page until it ends, is paused or `isStopping`. Each page is written down before its first
 * change and counted after its last one: where a process crashes, another one follows that neither repeats nor skips.
 * Memory holds one page. What it throws is stored with the operation, if the process still has its claim.
 */
export async function runOperation(operation_id: string, deps: RunDeps, isStopping: () => boolean): Promise<RunResult> {
  const lease = await claim(operation_id, deps);
  if (typeof lease === 'string') return lease;
  const claimed = lease.row;
  try {
    const result = await work(lease, deps, isStopping);
    if (result === 'ended') await deleteLetters(operation_id, deps, isStopping);
    return result;
  } catch (error) {
    if (error instanceof ClaimEndedError) return 'busy';
    // If this fails, too, its claim ends by itself, and the operation stays active for the next process.
    await fail(claimed, error, deps).catch(() => {});
    throw error;
  }
}

/** What takes dead notifications leaves letters that mean nothing: people who watch the queue would see no repair. */
const OF_THE_DEAD: readonly Kind[] = ['redrive', 'give_up', 'correct'];

async function deleteLetters(operation_id: string, { operations, dropReplaced }: RunDeps, isStopping: () => boolean) {
  const ended = dropReplaced && (await operations.read(operation_id));
  if (ended === undefined || isActive(ended) || ended.progress.taken === 0 || !OF_THE_DEAD.includes(ended.kind)) return;
  const { cut_off, filter, progress } = ended;
  const channels = filter.channel === undefined ? CHANNELS : [filter.channel];
  await dropReplaced?.({ replay_id: operation_id, channels, cut_off, most: progress.taken }, isStopping);
}

type OperationLease = Lease<Operation, OperationChange>;

async function work(lease: OperationLease, deps: RunDeps, isStopping: () => boolean): Promise<RunResult> {
  const { claim_id } = lease.row;
  while (isActive(lease.row)) {
    const { wanted, page, status } = lease.row;
    if (wanted !== undefined && page === undefined) {
      await lease.change((was) => applyRequestedStop(was, deps.clock()));
      return 'ended';
    }
    if (isStopping()) {
      await lease.change({ set: {}, remove: LEASE });
      return 'stopped';
    }
    const next = status === 'previewing' ? await previewPage(lease, deps) : await workPage(lease, deps);
    if (next === undefined || next.claim_id !== claim_id) return next === undefined ? 'busy' : 'ended';
    lease.row = next;
  }
  return 'ended';
}

async function claim(operation_id: string, { operations, clock, newId }: RunDeps): Promise<OperationLease | RunResult> {
  const read = () => operations.read(operation_id);
  const found = await read();
  if (found === undefined || !isActive(found)) return 'ended';
  if (isLeased(found, clock())) return 'busy';
  const port = { read, change: operations.change, clock, lease_ms: OPERATION_CLAIM_MS };
  return (await Lease.take(found, { set: { claim_id: newId() } }, port)) ?? 'busy';
}

/** Keeps why it stopped, so that it can be resumed, or ended if asked. Another process's takeover stays. */
async function fail({ operation_id, claim_id }: Operation, error: unknown, deps: RunDeps): Promise<void> {
  const why = `It stopped (${error instanceof Error ? error.name : 'an unknown error'}).`;
  const ended = async (found: Operation) => {
    if (!isActive(found) || found.claim_id !== claim_id) return undefined;
    if (found.wanted !== 'cancel') return failed(`${why} Nothing is lost: resume it.`);
    return cancelled(await countTaken(found, deps).catch(() => found.progress), deps.clock(), why);
  };
  await changeUntil(() => deps.operations.read(operation_id), ended, deps.operations.change);
}

/** The progress with what was taken of the page in work, of which nothing more is taken. */
async function countTaken(operation: Operation, deps: RunDeps): Promise<Counts> {
  const { page, progress } = operation;
  if (page === undefined) return progress;
  const counts = await takePage(operation, page.log_ids, deps, { repeatedOnly: true });
  return added(progress, { ...counts, matched: counts.taken });
}

interface Page {
  readonly rows: readonly ForeignRow[];
  readonly next?: Checkpoint;
}

async function readPage(operation: Operation, limit: number, { candidates }: LookDeps): Promise<Page> {
  const { checkpoint, filter, cut_off } = operation;
  const { source, after } = checkpoint;
  const period: Period = source === 'due' ? ALWAYS : { from: ALWAYS.from, to: cut_off };
  const asked = filter.created ?? { from: new Date(epochMs(cut_off) - 86_400_000).toISOString(), to: cut_off };
  const created = { from: asked.from, to: asked.to < cut_off ? asked.to : cut_off };
  const page = await candidates.page({
    source,
    period: source === 'created' ? created : period,
    filter,
    limit,
    ...(after && { after }),
  });
  const rows = page.rows.filter((row) => belongs(row, source, operation));
  if (page.next !== undefined) return { rows, next: { source, after: page.next } };
  const sources = sourcesOf(operation);
  const following = sources[sources.indexOf(source) + 1];
  return { rows, ...(following !== undefined && { next: { source: following } }) };
}

/** Decides about a page as the run would, and changes nothing. */
async function lookAtPage(operation: Operation, deps: LookDeps) {
  const { rows, next } = await readPage(operation, MOST_ROWS, deps);
  const before = operation.preview ?? NOTHING;
  const { counts, chosen } = chooseAll(rows, operation, before.taken, deps);
  const preview = added(before, { ...counts, taken: chosen.length });
  return { preview, sample: [...operation.sample, ...chosen].slice(0, SAMPLE), next };
}

async function previewPage(lease: OperationLease, deps: RunDeps): Promise<Operation | undefined> {
  const { next, ...found } = await lookAtPage(lease.row, deps);
  if (next !== undefined) return lease.change({ set: { ...found, checkpoint: next } });
  const [source = 'dead'] = sourcesOf(lease.row);
  return lease.change((was) => previewed(was, { ...found, checkpoint: { source } }, deps.clock()));
}

/** What an operation would take, without storing one. @param show what was found so far, after each page */
export async function dryRunOperation(
  given: Operation,
  deps: LookDeps,
  show: (operation: Operation) => void,
  isStopping: () => boolean,
): Promise<Operation> {
  let operation = given;
  while (!isStopping()) {
    const { next, ...found } = await lookAtPage(operation, deps);
    operation = { ...operation, ...found, ...(next && { checkpoint: next }) };
    show(operation);
    if (next === undefined) break;
  }
  return operation;
}

async function workPage(lease: OperationLease, deps: RunDeps): Promise<Operation | undefined> {
  const begun = deps.clock().getTime();
  const operation = lease.row.page === undefined ? await writeDown(lease, deps) : lease.row;
  const page = operation?.page;
  // Nothing of the page is taken: it is counted already.
  if (operation === undefined || page === undefined) return operation;
  if (operation.wanted === 'cancel') {
    return lease.change(cancelled(await countTaken(operation, deps), deps.clock()));
  }
  const counts = await takePage(operation, page.log_ids, deps);
  const progress = added(operation.progress, added({ ...NOTHING, ...page, taken: 0, left_to_sweep: 0 }, counts));
  const slot = (counts.taken / operation.rate) * 1_000;
  // A clock that was set back makes no longer pause.
  const elapsed = Math.max(0, deps.clock().getTime() - begun);
  const rate_now = Math.round((counts.taken / Math.max(1, elapsed, slot)) * 10_000) / 10;
  const saved = await lease.change(counted(page.next, { progress, rate_now }, deps.clock()));
  // After the page is counted: a process that is killed now, as it is most of the time, leaves nothing to repeat.
  if (slot <= elapsed) return saved;
  await deps.pause(slot - elapsed);
  // Somebody may have asked for something meanwhile.
  return deps.operations.read(operation.operation_id);
}

/** Reads the next page and writes down what of it is taken, before the first change; or counts it, if that is nothing. */
async function writeDown(lease: OperationLease, deps: RunDeps): Promise<Operation | undefined> {
  const operation = lease.row;
  const { rate, checkpoint, include_stopped, progress: before } = operation;
  // Where nothing can be taken, rows are counted only, which the rate does not bound.
  const chosenBefore = operation.chosen ?? before.taken;
  const isFull = chosenBefore >= (operation.limit ?? Number.POSITIVE_INFINITY);
  const isCounting = isFull || (checkpoint.source === 'created' && !include_stopped);
  const limit = isCounting ? MOST_ROWS : Math.max(1, Math.min(MOST_ROWS, Math.ceil(rate * PAGE_SECONDS)));
  const { rows, next } = await readPage(operation, limit, deps);
  const { counts, chosen } = chooseAll(rows, operation, chosenBefore, deps);
  if (chosen.length === 0) {
    const progress = added(before, counts);
    return lease.change(counted(next, { progress }, deps.clock()));
  }
  const page: PageInWork = {
    log_ids: chosen,
    matched: counts.matched,
    excluded: counts.excluded,
    ...(next && { next }),
  };
  const isLimited = operation.limit !== undefined;
  return lease.change({ set: { page, ...(isLimited && { chosen: chosenBefore + chosen.length }) } });
}
