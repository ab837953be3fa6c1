import { type Channel, LANES, type Lane, PRIORITIES, type Priority } from '../../model/channels.ts';
import { PRIORITY_POLICY } from '../../model/retry-policy.ts';
import {
  type DueIndex,
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
  /** When the oldest due notification became due. */
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
