import { PRIORITIES } from '../model/priorities.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { type PartitionCursors, readPartitions } from '../model/work/work-partitions.ts';
import { allShards, type DueIndex, type WorkState } from '../model/work-index.ts';
import { busyLanes } from './backlog.ts';
import { type MalformedDeps, setEntriesAside } from './malformed-entries.ts';
import { Dispatcher, type DispatcherDeps } from './sweep-dispatcher.ts';
import type { SweepHistory } from './sweep-record.ts';
import type { SweepRequest } from './sweep-request.ts';
import { type SweepResult, Tally } from './sweep-result.ts';
import { type SweepWindow, windowOf } from './sweep-window.ts';

/** Where a sweep that ran out of time continues, as the same sweep: what it sent itself must not count as a backlog. */
export interface SweepCursor {
  readonly queue: number;
  readonly after: PartitionCursors;
  /** When the sweep began, ISO-8601 UTC. */
  readonly started: string;
  /** Lanes that had a backlog then, as `<channel>-<lane>`. */
  readonly busy: readonly string[];
  /** When the last completed sweep before it began; absent when none is known. */
  readonly last_sweep?: string;
  /** Messages sent so far. */
  readonly sent: number;
}

export interface SweepDeps extends DispatcherDeps, MalformedDeps {
  readonly index: DueIndex;
  readonly sweeps: SweepHistory;
  /** True when the time that is left does not suffice for another page. */
  readonly outOfTime?: () => boolean;
}

/** Items per page and partition: large enough to need few requests, small enough to stop soon. */
const PAGE_SIZE = 250;

/**
 * One run of BATCH-952: finds what is due and sends it to the lanes, urgent first, oldest first (design §6.1). It
 * writes nothing but the reason of a malformed row: a crash loses nothing, and a notification that is sent twice is
 * claimed once.
 * @returns the counts, and a cursor when time ran out before the end.
 */
export async function sweep(
  request: SweepRequest,
  run: { readonly run_id: string; readonly from?: SweepCursor },
  deps: SweepDeps,
): Promise<{ result: SweepResult; next?: SweepCursor }> {
  const { from } = run;
  const now = from ? new Date(from.started) : deps.clock();
  const tally = new Tally(run.run_id, request.dry_run ?? false);
  const busy = from ? new Set(from.busy) : await busyLanes(request, deps.lanes);
  const last_sweep = from || busy.size === 0 ? from?.last_sweep : await lastCompleted(deps);
  const known = { busy, ...(last_sweep !== undefined && { last_sweep }) };
  const dispatcher = new Dispatcher(request, { run_id: run.run_id, now, ...known, sent: from?.sent ?? 0 }, tally, deps);
  const queues = queuesOf(request);
  for (let queue = from?.queue ?? 0; queue < queues.length; queue++) {
    const after = queue === from?.queue ? from.after : undefined;
    const stopped = await walk(
      { partitions: queues[queue] ?? [], after, window: windowOf(now, request), writes: !request.dry_run },
      dispatcher,
      deps,
    );
    if (stopped) {
      const { sent } = dispatcher;
      return {
        result: tally.result(),
        next: { queue, after: stopped, started: now.toISOString(), ...known, busy: [...busy], sent },
      };
    }
  }
  return { result: tally.result() };
}

/** Without this knowledge a busy lane gets everything that is due, which costs a failed claim per message. */
function lastCompleted({ sweeps }: SweepDeps): Promise<string | undefined> {
  return sweeps.lastCompleted().catch(() => undefined);
}

/** The partitions in the order to walk them; those of one priority and state together. */
function queuesOf(request: SweepRequest): string[][] {
  const states: WorkState[] = request.force_retry ? ['due', 'dead'] : ['due'];
  const { priority: wanted, express_minutes } = request;
  return PRIORITIES.filter((priority) => wanted === undefined || priority === wanted)
    .filter((priority) => express_minutes === undefined || PRIORITY_POLICY[priority].lane === 'express')
    .flatMap((priority) => states.map((state) => allShards(state, priority)));
}

interface Walk {
  readonly partitions: readonly string[];
  readonly after: PartitionCursors | undefined;
  readonly window: SweepWindow;
  /** False for a dry run. */
  readonly writes: boolean;
}

/** Dispatches the partitions round by round, a page of each. @returns where it stopped when time ran out */
async function walk(
  { partitions, after, window, writes }: Walk,
  dispatcher: Dispatcher,
  deps: SweepDeps,
): Promise<PartitionCursors | undefined> {
  let cursors: PartitionCursors | undefined = after ?? partitions.map(() => null);
  while (cursors !== undefined) {
    if (deps.outOfTime?.()) return cursors;
    const { pages, next } = await readPartitions(deps.index, partitions, { ...window, limit: PAGE_SIZE }, cursors);
    const items = pages.flatMap((page) => page.items);
    const malformed = pages.flatMap((page) => page.malformed ?? []);
    if (writes) await setEntriesAside(malformed, deps);
    await dispatcher.dispatch(items.sort((a, b) => (a.work_at < b.work_at ? -1 : a.work_at > b.work_at ? 1 : 0)));
    cursors = next;
  }
  return undefined;
}
