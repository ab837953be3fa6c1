import { PRIORITIES } from '../model/channels.ts';
import { withToken } from '../model/queue-message.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import {
  allShards,
  type DueIndex,
  type DueItem,
  type PartitionCursors,
  readPartitions,
  type WorkState,
} from '../model/work-index.ts';
import { lanesInUse } from './backlog.ts';
import { type LaneBound, LaneRooms, type LaneState, messagesIn } from './lane-room.ts';
import { type MalformedDeps, setEntriesAside } from './malformed-entries.ts';
import { Dispatcher, type DispatcherDeps } from './sweep-dispatcher.ts';
import {
  isBetweenSweeps,
  newTally,
  type RunHistory,
  type SweepHistory,
  type SweepRequest,
  type SweepResult,
  type SweepWindow,
  windowOf,
} from './sweep-run.ts';

/** Where a sweep that ran out of time continues, as the same sweep: what it sent itself must not count as a backlog. */
export interface SweepCursor {
  readonly queue: number;
  readonly after: PartitionCursors;
  /** When the sweep began, ISO-8601 UTC. */
  readonly started: string;
  /** Lanes that had a backlog then, as `<channel>-<lane>`. */
  readonly busy: readonly string[];
  /** By lane: its messages whose rows the sweep has not met yet. */
  readonly unmet?: Readonly<Record<string, number>>;
  /** By lane: how full it may be. */
  readonly rooms?: Readonly<Record<string, LaneState>>;
  /** When the last completed sweep before it began; absent when none is known. */
  readonly last_sweep?: string;
  readonly sent: number;
}

export interface SweepDeps extends DispatcherDeps, MalformedDeps {
  readonly index: DueIndex;
  readonly sweeps: SweepHistory;
  /** Keeps the lanes short; absent: they take everything, as for an operator's run. */
  readonly short_lanes?: ShortLanes;
}

export interface ShortLanes extends LaneBound {
  readonly pause: (ms: number) => Promise<void>;
}

/** Whether the sweep has walked the whole work index, and only waits for room in lanes. */
export const isWalked = (next: SweepCursor | undefined): boolean => next === undefined || next.after.length === 0;

/** Items per page and partition: large enough to need few requests, small enough to stop soon. */
const PAGE_SIZE = 250;

/**
 * One run of BATCH-952: finds what is due, urgent first, oldest first, and sends it to the lanes, page by page. It
 * writes nothing but the reason of a malformed row: a crash loses nothing, and a notification that is sent twice is
 * claimed once.
 * @returns the counts, a cursor when time ran out before the end, and how many messages the lanes refused.
 */
export async function sweep(
  request: SweepRequest,
  run: { readonly run_id: string; readonly from?: SweepCursor },
  deps: SweepDeps,
): Promise<{ result: SweepResult; next?: SweepCursor; refused: number }> {
  const { from } = run;
  const now = from ? new Date(from.started) : deps.clock();
  const tally = newTally(run.run_id, request.dry_run ?? false);
  const { unmet, rooms } = from ? lanesAt(from, deps) : await lanesNow(request, now, deps);
  const busy = from?.busy ?? [...unmet].flatMap(([lane, messages]) => (messages > 0 ? [lane] : []));
  const last_sweep =
    from || busy.length === 0 || isBetweenSweeps(request)
      ? from?.last_sweep
      : await lastKnown(deps.sweeps.lastCompleted());
  const known = last_sweep === undefined ? {} : { last_sweep };
  // Lambda may repeat an invocation that continues a sweep: its messages are no redrives of those that died meanwhile.
  const run_id = from ? withToken(run.run_id, deps.clock().getTime().toString(36)) : run.run_id;
  const began = { run_id, now, unmet, busy: new Set(busy), rooms, ...known, sent: from?.sent ?? 0 };
  const dispatcher = new Dispatcher(request, began, tally, deps);
  const cursor = (queue: number, after: PartitionCursors): SweepCursor => ({
    queue,
    after,
    started: now.toISOString(),
    ...known,
    busy,
    sent: dispatcher.sent,
    unmet: Object.fromEntries(unmet),
    ...(rooms && { rooms: rooms.state() }),
  });
  const queues = queuesOf(request, await deps.index.shards());
  const window = windowOf(now, request, { ...(await historyOf(request, deps)), interval_ms: deps.interval_ms });
  for (let queue = from?.queue ?? 0; queue < queues.length; queue++) {
    const after = queue === from?.queue ? from.after : undefined;
    const each = async (items: readonly DueItem[]) => {
      await dispatcher.dispatch(items);
      return false;
    };
    const stopped = await walk(
      { partitions: queues[queue] ?? [], after, window, writes: !request.dry_run, each },
      deps,
    );
    if (stopped) return { ...tally, next: cursor(queue, stopped) };
  }
  if (rooms !== undefined && (await refill({ rooms, unmet, queues, now }, dispatcher, deps))) {
    return { ...tally, next: cursor(queues.length, []) };
  }
  tally.result.skipped += rooms?.held ?? 0;
  return tally;
}

interface Lanes {
  readonly unmet: Map<string, number>;
  readonly rooms: LaneRooms | undefined;
}

async function lanesNow(request: SweepRequest, now: Date, { lanes, short_lanes }: SweepDeps): Promise<Lanes> {
  const unmet = await lanesInUse(request, lanes);
  const rooms = short_lanes && new LaneRooms(short_lanes);
  for (const [lane, messages] of unmet) rooms?.begin(lane, messages, now.getTime());
  return { unmet, rooms };
}

function lanesAt({ busy, unmet, rooms }: SweepCursor, { short_lanes }: SweepDeps): Lanes {
  const all = busy.map((lane) => [lane, Number.MAX_SAFE_INTEGER] as const);
  return {
    unmet: new Map(unmet === undefined ? all : Object.entries(unmet)),
    rooms: short_lanes && rooms && new LaneRooms(short_lanes, rooms),
  };
}

/** Milliseconds between two looks at full lanes. */
const REFILL_EVERY_MS = 5_000;

/**
 * Sends what did not fit into its lane as soon as there is room, urgent first, until the next sweep takes over
 * (docs/decisions/delivery/sweep-and-backlog.md#0082).
 * @returns true when time ran out before
 */
async function refill(
  { rooms, unmet, queues, now }: { rooms: LaneRooms; unmet: Lanes['unmet']; queues: string[][]; now: Date },
  dispatcher: Dispatcher,
  deps: SweepDeps,
): Promise<boolean> {
  const { short_lanes, clock, lanes, interval_ms } = deps;
  const until = now.getTime() + interval_ms;
  while (rooms.held > 0 && clock().getTime() < until) {
    if (deps.outOfTime?.()) return true;
    await short_lanes?.pause(REFILL_EVERY_MS);
    const still = new Set<string>();
    for (const lane of rooms.waiting()) {
      const earlier = rooms.total(lane);
      rooms.measure(lane, await messagesIn(lane, lanes), clock().getTime());
      if (rooms.total(lane) >= earlier) still.add(lane);
    }
    const open = new Set(rooms.refillable());
    const own = new Map([...open].map((lane) => [lane, rooms.messages(lane).own]));
    for (const lane of open) unmet.set(lane, rooms.messages(lane).before);
    const found = new Map([...open].map((lane) => [lane, rooms.total(lane)]));
    const each = async (items: readonly DueItem[]) => {
      await dispatcher.refill(items, own);
      for (const lane of open) if (rooms.isFull(lane)) open.delete(lane);
      return open.size === 0;
    };
    const window = { until: now.toISOString() };
    for (const partitions of queues) {
      if (open.size > 0 && (await walk({ partitions, after: undefined, window, writes: false, each }, deps))) break;
    }
    if (open.size === 0 || deps.outOfTime?.()) continue;
    // An empty lane got everything that is still due, and so did one that got nothing although it had room. Only what was left
    // out for messages that nobody knows is sent once they are gone; if they stay as their receives fail, by the next sweep.
    const unsure = dispatcher.endWalk();
    for (const lane of open) {
      const isVain = rooms.total(lane) === found.get(lane) && (still.has(lane) || !unsure.has(lane));
      if (isVain || found.get(lane) === 0) rooms.releaseAll(lane);
    }
  }
  return false;
}

/** The runs before one between two sweeps. */
async function historyOf(
  { ahead, express_minutes }: SweepRequest,
  { sweeps }: SweepDeps,
): Promise<Pick<RunHistory, 'last' | 'last_sweep'>> {
  if (ahead) {
    const [last, last_sweep] = await Promise.all([lastKnown(sweeps.lastAhead()), lastKnown(sweeps.lastCompleted())]);
    return { last, last_sweep };
  }
  return express_minutes === undefined ? {} : { last: await lastKnown(sweeps.lastExpress()) };
}

/** Without this knowledge a lane gets more second messages, each of which costs a failed claim. */
const lastKnown = (read: Promise<string | undefined>): Promise<string | undefined> => read.catch(() => undefined);

/** The partitions in the order to walk them; those of one priority and state together. */
function queuesOf(request: SweepRequest, shards: number): string[][] {
  const states: WorkState[] = request.force_retry ? ['due', 'dead'] : ['due'];
  const { priority: wanted, express_minutes } = request;
  return PRIORITIES.filter((priority) => wanted === undefined || priority === wanted)
    .filter((priority) => express_minutes === undefined || PRIORITY_POLICY[priority].lane === 'express')
    .flatMap((priority) => states.map((state) => allShards(state, priority, shards)));
}

interface Walk {
  readonly partitions: readonly string[];
  readonly after: PartitionCursors | undefined;
  readonly window: SweepWindow;
  /** False for a dry run. */
  readonly writes: boolean;
  /** Takes the items of a round, oldest first. @returns true when it needs no more */
  readonly each: (items: readonly DueItem[]) => Promise<boolean>;
}

/** Walks the partitions round by round, a page of each. @returns where it stopped when time ran out */
async function walk(
  { partitions, after, window, writes, each }: Walk,
  deps: SweepDeps,
): Promise<PartitionCursors | undefined> {
  let cursors: PartitionCursors | undefined = after ?? partitions.map(() => null);
  while (cursors !== undefined) {
    if (deps.outOfTime?.()) return cursors;
    const { pages, next } = await readPartitions(deps.index, partitions, { ...window, limit: PAGE_SIZE }, cursors);
    const items = pages.flatMap((page) => page.items);
    const malformed = pages.flatMap((page) => page.malformed ?? []);
    const enough = await each(items.sort((a, b) => (a.work_at < b.work_at ? -1 : a.work_at > b.work_at ? 1 : 0)));
    // After the good ones: whoever floods the index must not delay them.
    if (writes) await setEntriesAside(malformed, deps);
    cursors = enough ? undefined : next;
  }
  return undefined;
}
