import type { ForeignRow } from '../../model/foreign-row.ts';
import { epochMs } from '../../model/time.ts';
import type { Period } from '../search-filter.ts';
import { belongs, choose } from './choose.ts';
import type { Exclusion } from './exclusions.ts';
import {
  added,
  type Checkpoint,
  type Counts,
  NOTHING,
  type Operation,
  type OperationChange,
  type OperationRows,
  type OperationStore,
  type PageInWork,
  sourcesOf,
} from './operation.ts';
import { type TakeDeps, takePage } from './take-page.ts';

export interface RunDeps extends TakeDeps {
  readonly operations: OperationStore;
  readonly candidates: OperationRows;
  readonly pause: (ms: number) => Promise<void>;
  readonly newId: () => string;
}

/** A process that gives no sign of life for so long is dead, and another one goes on. A page takes much less. */
export const CLAIM_MS = 15_000;
/** Rows in memory at once: a page, whatever the number of notifications that match. */
const MOST_ROWS = 100;
/** A page holds what the rate allows in so many seconds: the rate holds for every second, and a pause is followed soon. */
const PAGE_SECONDS = 1;
const SAMPLE = 5;
const BEGINNING = '0000';
const END_OF_TIME = '9999-12-31T23:59:59.999Z';

/** `ended`: nothing is left to do. `stopped`: it was interrupted, and goes on when it is run again. `busy`: elsewhere. */
export type RunResult = 'ended' | 'stopped' | 'busy';

/**
 * Works on an operation page by page until it ends, is paused or `isStopping`. Each page is written down before its first
 * change and counted after its last one: a process that dies anywhere is followed by another one that neither repeats nor
 * skips. Memory holds one page.
 */
export async function runOperation(operation_id: string, deps: RunDeps, isStopping: () => boolean): Promise<RunResult> {
  let operation = await claim(operation_id, deps);
  if (typeof operation === 'string') return operation;
  const { claim_id } = operation;
  while (isActive(operation)) {
    if (operation.wanted !== undefined && operation.page === undefined) {
      await save(operation, heeded(operation, deps.clock()), deps);
      return 'ended';
    }
    if (isStopping()) {
      await save(operation, { set: {}, remove: ['claim_id', 'claim_until'] }, deps);
      return 'stopped';
    }
    const next: Operation | undefined =
      operation.status === 'previewing' ? await previewPage(operation, deps) : await workPage(operation, deps);
    if (next === undefined || next.claim_id !== claim_id) return next === undefined ? 'busy' : 'ended';
    operation = next;
  }
  return 'ended';
}

export function isActive({ status }: Pick<Operation, 'status'>): boolean {
  return status === 'previewing' || status === 'running';
}

/** Whether a process works on it, as far as is known. */
export function isClaimed({ claim_until }: Operation, now: Date): boolean {
  return claim_until !== undefined && epochMs(claim_until) > now.getTime();
}

async function claim(operation_id: string, { operations, clock, newId }: RunDeps): Promise<Operation | RunResult> {
  const found = await operations.read(operation_id);
  if (found === undefined || !isActive(found)) return 'ended';
  if (isClaimed(found, clock())) return 'busy';
  return (await operations.change(found, { set: { claim_id: newId(), claim_until: until(clock()) } })) ?? 'busy';
}

function until(now: Date): string {
  return new Date(now.getTime() + CLAIM_MS).toISOString();
}

/**
 * Writes the change and renews the claim. An operator may have asked for something in the meantime: the change is written
 * on top of that. Undefined when another process took the operation over.
 */
async function save(operation: Operation, change: OperationChange, deps: RunDeps): Promise<Operation | undefined> {
  const { operations, clock } = deps;
  let was: Operation | undefined = operation;
  while (was !== undefined && was.claim_id === operation.claim_id) {
    const renewed = change.remove?.includes('claim_id') ? {} : { claim_until: until(clock()) };
    const saved = await operations.change(was, { ...change, set: { ...change.set, ...renewed } });
    if (saved !== undefined) return saved;
    was = await operations.read(operation.operation_id);
  }
  return undefined;
}

/** What an operator asked for, now that no page is in work. */
export function heeded({ wanted }: Operation, now: Date): OperationChange {
  const remove = ['wanted', 'claim_id', 'claim_until', 'rate_now'] as const;
  return wanted === 'cancel'
    ? { set: { status: 'cancelled', ended_at: now.toISOString() }, remove }
    : { set: { status: 'paused' }, remove };
}

/** Keeps why it stopped, so that an operator can resume it. A process that took it over meanwhile is left alone. */
export async function failOperation(
  operation_id: string,
  error: string,
  { operations }: Pick<RunDeps, 'operations'>,
): Promise<void> {
  const found = await operations.read(operation_id);
  if (found === undefined || !isActive(found)) return;
  const remove = ['wanted', 'claim_id', 'claim_until', 'rate_now'] as const;
  await operations.change(found, { set: { status: 'failed', error }, remove });
}

interface Page {
  readonly rows: readonly ForeignRow[];
  readonly next?: Checkpoint;
}

async function readPage(operation: Operation, limit: number, { candidates }: RunDeps): Promise<Page> {
  const { checkpoint, filter, cut_off } = operation;
  const { source, after } = checkpoint;
  const period: Period = { from: BEGINNING, to: source === 'due' ? END_OF_TIME : cut_off };
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
async function previewPage(operation: Operation, deps: RunDeps): Promise<Operation | undefined> {
  const { rows, next } = await readPage(operation, MOST_ROWS, deps);
  const before = operation.preview ?? NOTHING;
  const { counts, chosen } = sorted(rows, operation, before.taken, deps);
  const preview = added(before, { ...counts, taken: chosen.length });
  const sample = [...operation.sample, ...chosen].slice(0, SAMPLE);
  if (next !== undefined) return save(operation, { set: { preview, sample, checkpoint: next } }, deps);
  const [source = 'dead'] = sourcesOf(operation);
  return save(
    operation,
    {
      set: { preview, sample, status: 'ready', checkpoint: { source } },
      remove: ['claim_id', 'claim_until'],
    },
    deps,
  );
}

/** The rows that are taken, and why the others are not. */
function sorted(rows: readonly ForeignRow[], operation: Operation, before: number, { clock, policy }: RunDeps) {
  const excluded: Partial<Record<Exclusion, number>> = {};
  const chosen: string[] = [];
  const room = (operation.limit ?? Number.POSITIVE_INFINITY) - before;
  for (const row of rows) {
    const choice = choose(row, operation, clock(), policy);
    const exclude = 'exclude' in choice ? choice.exclude : chosen.length >= room ? 'beyond_limit' : undefined;
    if (exclude === undefined) chosen.push(String(row['log_id']));
    else excluded[exclude] = (excluded[exclude] ?? 0) + 1;
  }
  return { counts: { ...NOTHING, matched: rows.length, excluded } satisfies Counts, chosen };
}

async function workPage(given: Operation, deps: RunDeps): Promise<Operation | undefined> {
  const begun = deps.clock().getTime();
  const operation = given.page === undefined ? await writeDown(given, deps) : given;
  const page = operation?.page;
  // Nothing of the page is taken: it is counted already.
  if (operation === undefined || page === undefined) return operation;
  const counts = await takePage(operation, page.log_ids, deps);
  const progress = added(operation.progress, added({ ...NOTHING, ...page, taken: 0, left_to_sweep: 0 }, counts));
  const slot = (counts.taken / operation.rate) * 1_000;
  const elapsed = deps.clock().getTime() - begun;
  const rate_now = Math.round((counts.taken / Math.max(1, elapsed, slot)) * 10_000) / 10;
  const saved = await save(operation, counted(page.next, { progress, rate_now }, deps.clock()), deps);
  // After the page is counted: a process that is killed now, as it is most of the time, leaves nothing to repeat.
  if (slot <= elapsed) return saved;
  await deps.pause(slot - elapsed);
  // Somebody may have asked for something meanwhile.
  return deps.operations.read(operation.operation_id);
}

/** The page is counted; reading goes on at the next one, or the operation is done. */
function counted(
  next: Checkpoint | undefined,
  { progress, rate_now }: { readonly progress: Counts; readonly rate_now?: number },
  now: Date,
): OperationChange {
  if (next === undefined) return ended(progress, now);
  return { set: { progress, checkpoint: next, ...(rate_now !== undefined && { rate_now }) }, remove: ['page'] };
}

function ended(progress: Counts, now: Date): OperationChange {
  return {
    set: { progress, status: 'done', ended_at: now.toISOString() },
    remove: ['page', 'claim_id', 'claim_until', 'rate_now', 'wanted'],
  };
}

/** Reads the next page and writes down what of it is taken, before the first change; or counts it, if that is nothing. */
async function writeDown(operation: Operation, deps: RunDeps): Promise<Operation | undefined> {
  const { rate, checkpoint, include_stopped, progress: before } = operation;
  // Where nothing can be taken, rows are counted only, which the rate does not bound.
  const isFull = before.taken >= (operation.limit ?? Number.POSITIVE_INFINITY);
  const isCounting = isFull || (checkpoint.source === 'created' && !include_stopped);
  const limit = isCounting ? MOST_ROWS : Math.max(1, Math.min(MOST_ROWS, Math.ceil(rate * PAGE_SECONDS)));
  const { rows, next } = await readPage(operation, limit, deps);
  const { counts, chosen } = sorted(rows, operation, before.taken, deps);
  if (chosen.length === 0) {
    const progress = added(before, counts);
    return save(operation, counted(next, { progress }, deps.clock()), deps);
  }
  const page: PageInWork = {
    log_ids: chosen,
    matched: counts.matched,
    excluded: counts.excluded,
    ...(next && { next }),
  };
  return save(operation, { set: { page } }, deps);
}
