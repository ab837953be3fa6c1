import { createOperatorRows } from '../../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createDueIndex } from '../../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { type Item, toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { CHANNELS, PRIORITIES, type Priority } from '../../../src/core/model/channels.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import type { Reported } from '../../../src/core/monitor/dead-notifications.ts';
import type { Notice } from '../../../src/core/monitor/death-notice.ts';
import { START } from '../engine/virtual-time.ts';
import { loadedIn, observed } from '../world/ports.ts';
import { ENVIRONMENT } from '../world/programs.ts';
import type { Found, NamedVolume, Volume } from './volume.ts';
import { idOf, type VolumeTable } from './volume-dynamodb.ts';

const { createHandler } = await loadedIn(
  { ...ENVIRONMENT, ALERTS_TOPIC_ARN: 'arn', STACK_NAME: 'stack', CHANNELS: 'webhook', NOTICES_LANGUAGE: 'en' },
  () => import('../../../functions/monitor/handler.ts'),
);

const MINUTE = 60_000;
const SHARDS = BASE_SHARDS.work;
/** What an entry costs a function of 512 MB: 17 µs of CPU. */
const ENTRY_MS = 0.06;
const LAMBDA_MS = 240_000;
const [ENTRY_BYTES, ROW_BYTES] = [150, 800];
/** When the flood died, and when the others did: just after a run of the monitor has looked. */
const FLOODED = START.toISOString();
const DIED = START.getTime() + 2_000;
const FIRST_RUN = DIED + 7 * MINUTE - 1;

/** Parts of the whole, by priority. */
type Flood = Readonly<Partial<Record<Priority, number>>>;

/** Two of another tenant, behind all of the flood in a partition of their priority. */
const OTHERS = ['urgent', 'info'] as const;
const VICTIM = { tenant_id: 'victim', integration_config_id: 'IC-victim', failure_reason: 'AUTH_FAILED' } as const;

interface Partition {
  readonly first: number;
  readonly own: number;
  readonly other: number;
  /** All of the flood but for its id. */
  readonly like: Item;
}

function likeOf(priority: Priority, work_queue: string, isOther: boolean): Item {
  const work_at = isOther ? new Date(DIED).toISOString() : FLOODED;
  const whose = isOther ? VICTIM : { tenant_id: 'flood', failure_reason: 'EXPIRED' };
  return toItem({ channel: 'webhook', priority, work_queue, work_at, send_status: 'FAILED', ...whose });
}

/** The dead of one tenant, all of a moment, with those of others among them. */
function deadTables(count: number, parts: Flood) {
  const sizes = PRIORITIES.map((priority) => Math.round(count * (parts[priority] ?? 0)));
  const begins = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const partitions = new Map<string, Partition>();
  const placeOf = (partition: string) => {
    const known = partitions.get(partition) ?? partitionOf(partition);
    partitions.set(partition, known);
    return known;
  };
  const partitionOf = (partition: string): Partition => {
    const [, name, shard] = partition.split('#');
    const priority = PRIORITIES.indexOf(name as Priority);
    const own = Math.max(0, Math.ceil(((sizes[priority] ?? 0) - Number(shard)) / SHARDS));
    const other = shard === '3' ? OTHERS.indexOf(name as (typeof OTHERS)[number]) : -1;
    const like = likeOf(name as Priority, partition, false);
    return { first: (begins[priority] ?? 0) + Number(shard), own, other, like };
  };
  const priorityOf = (row: number) =>
    OTHERS[row - total] ?? PRIORITIES[begins.findLastIndex((begin) => begin <= row)] ?? 'info';
  const workAt = (row: number) => (row < total ? FLOODED : new Date(DIED).toISOString());
  const item = (row: number, queue = `dead#${priorityOf(row)}#3`): Item => {
    const like = row < total ? placeOf(queue).like : likeOf(priorityOf(row), queue, true);
    return { ...like, log_id: { S: idOf(row) } };
  };
  const work: VolumeTable = {
    size: (partition) => {
      const { own, other } = placeOf(partition);
      return partition.startsWith('dead') ? own + (other < 0 ? 0 : 1) : 0;
    },
    rowAt: (partition, at) => {
      const { first, own, other } = placeOf(partition);
      return at < own ? first + at * SHARDS : total + other;
    },
    placeOf: (partition, row) => {
      const { first, own } = placeOf(partition);
      return row < total ? (row - first) / SHARDS : own;
    },
    sort: workAt,
    bytes: () => ENTRY_BYTES,
    item,
  };
  return { tables: { 'log/work_index': work, log: { ...work, bytes: () => ROW_BYTES } }, sizes, total };
}

/** The monitor, every five minutes, until it has told of all deaths. */
export async function reportFlood(volume: Volume, flood: Flood) {
  const { time } = volume;
  const { tables, total } = deadTables(volume.count, flood);
  let entries = 0;
  const store = volume.store(tables, { item_ms: ENTRY_MS }, 1);
  const index = createDueIndex(store.client, 'log', async () => SHARDS);
  const rows = createOperatorRows(store.client, 'log', time.clock);
  const notices: { readonly minutes: number; readonly notice: Notice }[] = [];
  let mark: Reported | undefined;
  const isBehind = () => mark?.behind !== undefined;
  let [rows_read, longest] = [0, 0];
  const monitor = createHandler(
    {
      index: {
        shards: index.shards,
        page: async (...asked) => {
          const page = await index.page(...asked);
          entries += page.items.length;
          return page;
        },
      },
      rows: {
        read: (log_id) => {
          rows_read += 1;
          return rows.read(log_id);
        },
      },
      mark: {
        read: async () => mark,
        write: async (reported) => {
          mark = reported;
        },
      },
      providers: { list: async () => [], note: async () => {} },
      channels: CHANNELS,
      publish: async (notice) => void notices.push({ minutes: (time.now - DIED) / MINUTE, notice }),
      stack: 'stack',
      clock: time.clock,
    },
    observed(volume.env({})),
  );
  await time.run(async () => {
    await time.pause(FIRST_RUN - time.now);
    do {
      const begun = time.now;
      await monitor();
      longest = Math.max(longest, time.now - begun);
      await time.pause(5 * MINUTE - ((time.now - begun) % (5 * MINUTE)));
    } while (isBehind() && notices.length < 20);
  });
  const told = (other: number) =>
    notices.find(({ notice }) => notice.text.includes(idOf(total + other)))?.minutes ?? Number.POSITIVE_INFINITY;
  const found: Found = {
    shown: { runs: notices.length, 'rows read': rows_read },
    holds: { 'all are told': notices.length > 0 && !isBehind() },
    budgets: [
      ['minutes until an urgent death of another tenant is told', told(0), 10],
      // Of the rest, a run tells of 1.6 million.
      ['minutes until another death of another tenant is told', told(1), Math.max(20, 10 + volume.count / 320_000)],
      ['seconds of the longest run of the monitor', longest / 1_000, LAMBDA_MS / 1_000],
    ],
  };
  return { ...found, entries, rows_read, longest, notices: notices.map(({ notice }) => notice) };
}

export const FLOOD_OF_DEATHS: NamedVolume = {
  name: 'flood-of-deaths',
  describes:
    'deaths of one tenant at one moment, half of them urgent, and of another one, which have to be told in time',
  notifications: 1_000_000,
  volume: (volume) => reportFlood(volume, { urgent: 0.5, info: 0.5 }),
};
