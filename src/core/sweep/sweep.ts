import { PRIORITIES } from '../model/channels.ts';
import { withToken } from '../model/queue-message.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { allShards, type DueItem, type PartitionCursors, type WorkState } from '../model/work-index.ts';
import { lanesInUse } from './backlog.ts';
import { type LaneBound, LaneRooms, type LaneState, messagesIn } from './lane-room.ts';
import { Dispatcher, type DispatcherDeps } from './sweep-dispatcher.ts';
import {
  type Foresight,
  isBetweenSweeps,
  newTally,
  Preview,
  type RunHistory,
  type SweepHistory,
  type SweepRequest,
  type SweepResult,
  windowOf,
} from './sweep-run.ts';
import { REFILL_EVERY_MS, TopUp } from './top-up.ts';
import { type WalkDeps, walk } from './walk.ts';

/** Where a sweep that ran out of time continues, as the same sweep: what it sent itself must not count as a backlog. */
export interface SweepCursor {
  /** The first queue that is not walked to its end. */
  readonly queue: number;
  readonly after: PartitionCursors;
  /** Those behind it: not begun, where they go on, or, without entries, walked. */
  readonly later?: readonly (PartitionCursors | null)[];
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

export interface SweepDeps extends DispatcherDeps, WalkDeps {
  readonly sweeps: SweepHistory;
  /** For a dry run that lists. */
  readonly foresee: Foresight;
  /** Keeps the lanes short; absent: they take everything, as for an operator's run. */
  readonly short_lanes?: ShortLanes;
}

export interface ShortLanes extends LaneBound {
  readonly pause: (ms: number) => Promise<void>;
}

/** Whether the sweep has walked the whole work index, and only waits for room in lanes. */
export const isWalked = (next: SweepCursor | undefined): boolean => next === undefined || next.after.length === 0;

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
  // The answer of a sweep that continues reaches nobody.
  const preview = request.dry_run && request.list && !from ? new Preview(request, deps.foresee) : undefined;
  if (preview) tally.result.targets = preview.targets;
  const began = { run_id, now, unmet, busy: new Set(busy), rooms, ...known, sent: from?.sent ?? 0, preview };
  const dispatcher = new Dispatcher(request, began, tally, deps);
  const queues = queuesOf(request, await deps.index.shards());
  const places = queues.map((_, queue) => placeOf(queue, from));
  const cursor = (): SweepCursor => {
    const queue = places.findIndex((place) => place !== WALKED);
    const rest = queue < 0 ? [] : places.slice(queue + 1);
    return {
      queue: queue < 0 ? queues.length : queue,
      after: places[queue] ?? [],
      ...(rest.some((place) => place !== null) && { later: rest }),
      started: now.toISOString(),
      ...known,
      busy,
      sent: dispatcher.sent,
      unmet: Object.fromEntries(unmet),
      ...(rooms && { rooms: rooms.state() }),
    };
  };
  const topUp = rooms && new TopUp({ rooms, queues, until: now.toISOString() }, dispatcher, deps);
  const window = windowOf(now, request, { ...(await historyOf(request, deps)), interval_ms: deps.interval_ms });
  while (places.some((place) => place !== WALKED)) {
    for (const [queue, partitions] of queues.entries()) {
      const after = places[queue];
      if (after === WALKED) continue;
      const end = deps.clock().getTime() + SLICE_MS;
      let rounds = 0;
      const each = async (items: readonly DueItem[], round: PartitionCursors) => {
        rounds += 1;
        const full = await dispatcher.dispatch(items);
        topUp?.note(full, { queue, after: round });
        return false;
      };
      // Lanes of the next queues must not wait for the end of this one, whose rows have no room any more.
      const between = async () => {
        await topUp?.look();
        const isOver = rounds > 0 && rooms !== undefined && deps.clock().getTime() >= end;
        return isOver && places.some((place, other) => place !== WALKED && other !== queue);
      };
      places[queue] =
        (await walk({ partitions, after, window, writes: !request.dry_run, each, between }, deps)) ?? WALKED;
      if (places[queue] !== WALKED && deps.outOfTime?.()) return { ...tally, next: cursor() };
    }
  }
  if (rooms && topUp && (await refill({ rooms, unmet, queues, now, topUp }, dispatcher, deps))) {
    return { ...tally, next: cursor() };
  }
  tally.result.skipped += rooms?.held ?? 0;
  return tally;
}

/** Of a queue that is walked to its end. */
const WALKED: PartitionCursors = [];
/** How long a sweep with short lanes walks a queue before it looks at the next one. */
const SLICE_MS = 3_000;

/** Null: at its beginning. */
function placeOf(queue: number, from: SweepCursor | undefined): PartitionCursors | null {
  if (from === undefined) return null;
  const place = queue < from.queue ? WALKED : queue === from.queue ? from.after : from.later?.[queue - from.queue - 1];
  return place?.length === 0 ? WALKED : (place ?? null);
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

interface Refill {
  readonly rooms: LaneRooms;
  readonly unmet: Lanes['unmet'];
  readonly queues: readonly string[][];
  readonly now: Date;
  readonly topUp: TopUp;
}

/**
 * Sends what did not fit into its lane as soon as there is room, urgent first, until the next sweep takes over
 * (docs/decisions/delivery/sweep-and-backlog.md#0082).
 * @returns true when time ran out before
 */
async function refill(
  { rooms, unmet, queues, now, topUp }: Refill,
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
    const open = new Set(rooms.waiting().filter((lane) => rooms.isHalfEmpty(lane)));
    const own = new Map([...open].map((lane) => [lane, rooms.unknown(lane).own]));
    for (const lane of open) unmet.set(lane, rooms.unknown(lane).before);
    const found = new Map([...open].map((lane) => [lane, rooms.total(lane)]));
    const each = async (items: readonly DueItem[]) => {
      await dispatcher.refill(items, { before: unmet, own });
      for (const lane of open) if (rooms.isFull(lane)) open.delete(lane);
      return open.size === 0;
    };
    const between = async () => {
      await topUp.look(own);
      return false;
    };
    const window = { until: now.toISOString() };
    for (const partitions of queues) {
      if (open.size > 0 && (await walk({ partitions, window, writes: false, each, between }, deps))) break;
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
