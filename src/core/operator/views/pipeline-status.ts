import { type Breaker, heldSince, shownPhaseOf } from '../../breaker/breaker.ts';
import { CHANNELS, type Channel, LANES, type Lane, PRIORITIES, type Priority } from '../../model/channels.ts';
import { PRIORITY_POLICY } from '../../model/retry-policy.ts';
import {
  allShards,
  type DueIndex,
  type PageCursor,
  type PartitionCursors,
  readPartitions,
  type WorkState,
  workPartitions,
} from '../../model/work-index.ts';

/** An operator's view of a lane. All figures except `in_flight` come from the work index. */
export interface LaneStatus {
  readonly channel: Channel;
  readonly lane: Lane;
  /** Notifications whose time has come, including those that are queued or being attempted. */
  readonly due: number;
  /** Notifications whose time is in the future. */
  readonly waiting: number;
  /** Approximate number of messages that a channel function is processing: the count of the queue. */
  readonly in_flight: number;
  readonly dead: number;
  readonly oldest_due_at: string | null;
}

export interface LaneStatusDeps {
  readonly index: DueIndex;
  /** Those of the stage. */
  readonly channels: readonly Channel[];
  readonly inFlight: (channel: Channel, lane: Lane) => Promise<number>;
  readonly now: Date;
}

/** Items per request: few requests, and memory for one page per partition. */
const PAGE_SIZE = 1_000;
/** Sorts after every time. */
const END_OF_TIME = '9999-12-31T23:59:59.999Z';

type Counts = { -readonly [K in keyof LaneStatus]: LaneStatus[K] };

/** Counts the work index. It holds only unfinished and dead notifications, so the size of the table does not matter. */
export async function laneStatus({ index, channels, inFlight, now }: LaneStatusDeps): Promise<LaneStatus[]> {
  const lanes: Counts[] = await Promise.all(
    channels.flatMap((channel) =>
      LANES.map(async (lane) => ({
        channel,
        lane,
        due: 0,
        waiting: 0,
        in_flight: await inFlight(channel, lane),
        dead: 0,
        oldest_due_at: null,
      })),
    ),
  );
  const nowIso = now.toISOString();
  for (const priority of PRIORITIES) {
    for (const state of ['due', 'dead'] as const) {
      await countPartitions(state, priority, index, (channel, work_at) => {
        const counts = lanes.find((lane) => lane.channel === channel && lane.lane === PRIORITY_POLICY[priority].lane);
        if (counts === undefined) return;
        if (state === 'dead') counts.dead += 1;
        else if (work_at > nowIso) counts.waiting += 1;
        else {
          counts.due += 1;
          if (counts.oldest_due_at === null || work_at < counts.oldest_due_at) counts.oldest_due_at = work_at;
        }
      });
    }
  }
  return lanes;
}

async function countPartitions(
  state: WorkState,
  priority: Priority,
  index: DueIndex,
  count: (channel: Channel, work_at: string) => void,
): Promise<void> {
  const partitions = workPartitions(state, await index.shards(), priority);
  let cursors: PartitionCursors | undefined;
  do {
    const query = { until: END_OF_TIME, limit: PAGE_SIZE };
    const { pages, next } = await readPartitions(index, partitions, query, cursors);
    for (const { channel, work_at } of pages.flatMap(({ items }) => items)) count(channel, work_at);
    cursors = next;
  } while (cursors !== undefined);
}

export type BreakerStatus = ReturnType<typeof breakerStatus>[number];

/** The breakers that are not closed. The one that opened first comes first. */
export function breakerStatus(breakers: readonly Breaker[], now: Date) {
  return breakers
    .flatMap((breaker) => {
      const state = shownPhaseOf(breaker, now);
      if (state === 'closed') return [];
      const [channel = '', ...integration] = breaker.id.split('#');
      return [
        {
          channel: channel as Channel,
          integration: integration.join('#'),
          state,
          since: breaker.since,
          held: heldSince(breaker),
          last_error: breaker.error_type,
          next_probe_at: state === 'open' ? breaker.probe_at : null,
        },
      ];
    })
    .sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
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
 * What is due, waiting and dead, by channel. An exact count of a large index costs seconds, so from hundreds of entries
 * per priority on, an eighth of the partitions is counted, and the figures are off by about 3 % at 10,000 per priority.
 */
export async function workFigures(index: WorkEntries, now: Date) {
  const shards = await index.shards();
  const parts = await Promise.all(
    (['due', 'dead'] as const).flatMap((state) =>
      PRIORITIES.map(async (priority) => ({
        state,
        ...(await countOf(allShards(state, priority, shards), index, now)),
      })),
    ),
  );
  return CHANNELS.map((channel) => {
    const of = (state: WorkState, kind: keyof Counted) =>
      parts.reduce((sum, part) => sum + (part.state === state ? (part.counts.get(channel)?.[kind] ?? 0) : 0), 0);
    const estimated = parts.some(({ counts, factor }) => factor > 1 && counts.has(channel));
    const oldest = parts.flatMap(({ state, oldest: times }) => (state === 'due' ? (times.get(channel) ?? []) : []));
    const rounded = (value: number) => (estimated ? Number(value.toPrecision(2)) : value);
    return {
      channel,
      due: rounded(of('due', 'past')),
      waiting: rounded(of('due', 'future')),
      dead: rounded(of('dead', 'past') + of('dead', 'future')),
      oldest_due_at: oldest.sort()[0] ?? null,
      estimated,
    };
  });
}

interface Counted {
  past: number;
  future: number;
}

/** @returns figures by channel; `factor`: what they were multiplied by, 1 where they are exact */
async function countOf(partitions: readonly string[], index: WorkEntries, now: Date) {
  const first = await Promise.all(partitions.map((one) => index.page(one, { limit: EXACT, brief: true })));
  const read = first.flatMap(({ entries }) => entries);
  const oldest = oldestBy(read, now);
  if (first.every(({ next }) => next === undefined)) return { counts: counted(read, now, 1), oldest, factor: 1 };
  const sample = partitions.flatMap((name, i) => (i % SAMPLED === 0 ? [{ name, page: first[i] }] : []));
  const entries = await Promise.all(sample.map(({ name, page }) => theRest(name, page, index)));
  const factor = partitions.length / sample.length;
  return { counts: counted(entries.flat(), now, factor), oldest, factor };
}

async function theRest(
  partition: string,
  first: { readonly entries: readonly WorkEntry[]; readonly next?: PageCursor } | undefined,
  index: WorkEntries,
): Promise<readonly WorkEntry[]> {
  const entries = [...(first?.entries ?? [])];
  let after = first?.next;
  for (let pages = 0; after !== undefined && pages < MOST_PAGES; pages++) {
    const page = await index.page(partition, { limit: PAGE, brief: true, after });
    for (const entry of page.entries) entries.push(entry);
    after = page.next;
  }
  return entries;
}

function counted(entries: readonly WorkEntry[], now: Date, factor: number): Map<string, Counted> {
  const at = now.toISOString();
  const counts = new Map<string, Counted>();
  for (const { channel, work_at } of entries) {
    const figures = counts.get(channel) ?? { past: 0, future: 0 };
    figures[work_at > at ? 'future' : 'past'] += factor;
    counts.set(channel, figures);
  }
  return counts;
}

/** By channel; of what was read: the oldest of all partitions are among them, unless a channel begins far behind. */
function oldestBy(entries: readonly WorkEntry[], now: Date): Map<string, string> {
  const at = now.toISOString();
  const oldest = new Map<string, string>();
  for (const { channel, work_at } of entries) {
    if (work_at <= at && work_at < (oldest.get(channel) ?? '~')) oldest.set(channel, work_at);
  }
  return oldest;
}
