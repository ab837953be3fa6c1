import { CHANNELS, type Channel, LANES, type Lane, PRIORITIES, type Priority } from '../../model/channels.ts';
import { PRIORITY_POLICY } from '../../model/retry-policy.ts';
import {
  allShards,
  type DueIndex,
  type DueItem,
  type PageCursor,
  type PartitionCursors,
  readPartitions,
  type WorkState,
  workPartitions,
} from '../../model/work-index.ts';
import {
  type Counted,
  HeldCount,
  type HeldFigures,
  type Holders,
  NOTHING_HOLDS,
  oldestOf,
  type Unfinished,
  unfinished,
} from './held.ts';

/** An operator's view of a lane. */
export interface LaneStatus extends Unfinished {
  readonly channel: Channel;
  readonly lane: Lane;
  readonly dead: number;
  readonly oldest_due_at: string | null;
}

export interface LaneStatusDeps {
  readonly index: DueIndex;
  /** Those of the stage. */
  readonly channels: readonly Channel[];
  readonly inFlight: (channel: Channel, lane: Lane) => Promise<number>;
  readonly now: Date;
  /** What may hold them; absent: nothing does. */
  readonly holders?: Holders;
}

/** Items per request: few requests, and memory for one page per partition. */
const PAGE_SIZE = 1_000;
/** Sorts after every time. */
const END_OF_TIME = '9999-12-31T23:59:59.999Z';

/** Counts the work index. It holds only unfinished and dead notifications, so the size of the table does not matter. */
export async function laneStatus({ index, channels, inFlight, now, holders = NOTHING_HOLDS }: LaneStatusDeps) {
  const counts = channels.flatMap((channel) =>
    LANES.map((lane) => ({ channel, lane, past: 0, future: 0, dead: 0, oldest: null as string | null })),
  );
  const count = new HeldCount<string>(holders.breakers);
  const nowIso = now.toISOString();
  for (const priority of PRIORITIES) {
    const { lane } = PRIORITY_POLICY[priority];
    for (const state of ['due', 'dead'] as const) {
      await countPartitions(state, priority, index, ({ channel, work_at, log_id }) => {
        const counted = counts.find((one) => one.channel === channel && one.lane === lane);
        if (counted === undefined) return;
        const kind = state === 'dead' ? 'dead' : work_at > nowIso ? 'future' : 'past';
        counted[kind] += 1;
        if (kind === 'past' && work_at < (counted.oldest ?? '~')) counted.oldest = work_at;
        if (kind !== 'dead' && count.concerns(channel)) count.add(`${channel} ${lane} ${kind}`, log_id);
      });
    }
  }
  const held = await count.figures(holders.rows, now);
  const lanes = counts.map(async ({ channel, lane, dead, oldest, ...counted }): Promise<LaneStatus> => {
    const of = (kind: keyof Counted) => held.of(`${channel} ${lane} ${kind}`);
    const figures = unfinished(counted, { past: of('past'), future: of('future') }, await inFlight(channel, lane));
    return { channel, lane, ...figures, dead, oldest_due_at: oldestOf(figures, oldest) };
  });
  return { lanes: await Promise.all(lanes), heldBy: held.by };
}

async function countPartitions(
  state: WorkState,
  priority: Priority,
  index: DueIndex,
  count: (item: DueItem) => void,
): Promise<void> {
  const partitions = workPartitions(state, await index.shards(), priority);
  let cursors: PartitionCursors | undefined;
  do {
    const query = { until: END_OF_TIME, limit: PAGE_SIZE };
    const { pages, next } = await readPartitions(index, partitions, query, cursors);
    for (const item of pages.flatMap(({ items }) => items)) count(item);
    cursors = next;
  } while (cursors !== undefined);
}

/** What the work index says of a notification, without its row. Another writer may have written anything. */
export interface WorkEntry {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: string;
  readonly work_at: string;
}

interface WorkEntriesQuery {
  readonly limit: number;
  /** Newest first; else oldest first. */
  readonly newest?: boolean;
  readonly after?: PageCursor;
  /** Only what a count needs, channel and work_at: half the CPU. */
  readonly brief?: boolean;
}

/** The work index, as an operator looks at it: one partition, one page, in either order. */
export interface WorkEntries {
  shards(): Promise<number>;
  page(
    work_queue: string,
    query: WorkEntriesQuery,
  ): Promise<{ readonly entries: readonly WorkEntry[]; readonly next?: PageCursor }>;
}

/** Entries of each partition that are always read. Where all end within them, the figures are exact. */
const EXACT = 50;
/** Of the partitions that go on, one in this many is counted to its end: notifications are spread evenly over them. */
const SAMPLED = 8;
/** Entries per request, and requests per partition: with more of them, a figure is a lower bound. */
const PAGE = 5_000;
const MOST_PAGES = 3;

/**
 * The figures by channel. An exact count of a large index costs seconds, so from hundreds of entries per priority on, an
 * eighth of the partitions is counted, and the figures are off by about 3 % at 10,000 per priority.
 * @param inFlight messages that channel functions have received, by channel
 */
export async function workFigures(
  index: WorkEntries,
  now: Date,
  { holders = NOTHING_HOLDS, inFlight = {} }: { holders?: Holders; inFlight?: Partial<Record<Channel, number>> } = {},
) {
  const shards = await index.shards();
  const held = new HeldCount<string>(holders.breakers);
  const parts = await Promise.all(
    (['due', 'dead'] as const).flatMap((state) =>
      PRIORITIES.map(async (priority) => {
        const brief = state === 'dead' || holders.breakers.length === 0;
        const { entries, ...read } = await entriesOf(allShards(state, priority, shards), { index, brief });
        const part = { state, priority, ...read, ...counted(entries, now, read.factor) };
        if (!brief) lookAt(entries, part, held, now);
        return part;
      }),
    ),
  );
  const found = await held.figures(holders.rows, now);
  const channels = CHANNELS.map((channel) =>
    figuresOf(channel, parts, { found, now, messages: inFlight[channel] ?? 0 }),
  );
  return { channels, heldBy: found.by };
}

interface CountedPart {
  readonly state: WorkState;
  readonly priority: Priority;
  readonly first: readonly WorkEntry[];
  /** What the counts were multiplied by, 1 where they are exact. */
  readonly factor: number;
  readonly counts: ReadonlyMap<string, Counted>;
}

/** Notes what may be held. */
function lookAt(entries: readonly WorkEntry[], { priority, factor }: CountedPart, held: HeldCount<string>, now: Date) {
  const at = now.toISOString();
  for (const { channel, work_at, log_id } of entries) {
    if (held.concerns(channel)) held.add(`${priority} ${channel} ${work_at > at ? 'future' : 'past'}`, log_id, factor);
  }
}

function figuresOf(
  channel: Channel,
  parts: readonly CountedPart[],
  { found, now, messages }: { readonly found: HeldFigures<string>; readonly now: Date; readonly messages: number },
) {
  const sum = (state: WorkState, of: (part: CountedPart) => number) =>
    parts.reduce((total, part) => total + (part.state === state ? of(part) : 0), 0);
  const of = (state: WorkState, kind: keyof Counted) => sum(state, ({ counts }) => counts.get(channel)?.[kind] ?? 0);
  const heldOf = (kind: keyof Counted) => sum('due', ({ priority }) => found.of(`${priority} ${channel} ${kind}`));
  const isPartOf = (state: WorkState) =>
    parts.some((part) => part.state === state && part.factor > 1 && part.counts.has(channel));
  const isDuePart =
    isPartOf('due') ||
    PRIORITIES.some((priority) =>
      (['past', 'future'] as const).some((kind) => found.estimated.has(`${priority} ${channel} ${kind}`)),
    );
  const rounded = (value: number, isPart = isDuePart) => (isPart ? Number(value.toPrecision(2)) : value);
  const figures = unfinished(
    { past: rounded(of('due', 'past')), future: rounded(of('due', 'future')) },
    { past: rounded(heldOf('past')), future: rounded(heldOf('future')) },
    messages,
  );
  const oldest = parts.flatMap(({ state, first }) => (state === 'due' ? (oldestIn(first, channel, now) ?? []) : []));
  return {
    channel,
    ...figures,
    dead: rounded(of('dead', 'past') + of('dead', 'future'), isPartOf('dead')),
    oldest_due_at: oldestOf(figures, oldest.sort()[0] ?? null),
    estimated: isDuePart || isPartOf('dead'),
  };
}

type PartRead = { readonly index: WorkEntries; readonly brief: boolean };

/** @returns what is counted, what was read of each partition's beginning, and for how many each entry stands */
async function entriesOf(partitions: readonly string[], read: PartRead) {
  const { index, brief } = read;
  const pages = await Promise.all(partitions.map((one) => index.page(one, { limit: EXACT, brief })));
  const first = pages.flatMap(({ entries }) => entries);
  if (pages.every(({ next }) => next === undefined)) return { entries: first, first, factor: 1 };
  const sample = partitions.flatMap((name, i) => (i % SAMPLED === 0 ? [{ name, page: pages[i] }] : []));
  const entries = await Promise.all(sample.map(({ name, page }) => theRest(name, page, read)));
  return { entries: entries.flat(), first, factor: partitions.length / sample.length };
}

async function theRest(
  partition: string,
  first: { readonly entries: readonly WorkEntry[]; readonly next?: PageCursor } | undefined,
  { index, brief }: PartRead,
): Promise<readonly WorkEntry[]> {
  const entries = [...(first?.entries ?? [])];
  let after = first?.next;
  for (let pages = 0; after !== undefined && pages < MOST_PAGES; pages++) {
    const page = await index.page(partition, { limit: PAGE, brief, after });
    for (const entry of page.entries) entries.push(entry);
    after = page.next;
  }
  return entries;
}

function counted(entries: readonly WorkEntry[], now: Date, factor: number) {
  const at = now.toISOString();
  const counts = new Map<string, Counted>();
  for (const { channel, work_at } of entries) {
    const figures = counts.get(channel) ?? { past: 0, future: 0 };
    figures[work_at > at ? 'future' : 'past'] += factor;
    counts.set(channel, figures);
  }
  return { counts };
}

/** Of what was read: the oldest of all partitions are among them, unless a channel begins far behind. */
function oldestIn(entries: readonly WorkEntry[], channel: Channel, now: Date): string | undefined {
  const at = now.toISOString();
  return entries
    .flatMap((entry) => (entry.channel === channel && entry.work_at <= at ? [entry.work_at] : []))
    .sort()[0];
}
