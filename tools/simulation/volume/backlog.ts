import { createDueIndex } from '../../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import {
  CHANNELS,
  type Channel,
  LANES,
  type Lane,
  type PerLane,
  PRIORITIES,
} from '../../../src/core/model/channels.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import type { QueueMessage } from '../../../src/core/model/queue-message.ts';
import { PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { shardOf } from '../../../src/core/model/work-index.ts';
import { START } from '../engine/virtual-time.ts';
import { SimulatedQueue } from '../models/queue.ts';
import { type Swept, startDispatcher } from '../pipeline/dispatcher.ts';
import type { Found, NamedVolume, Volume } from './volume.ts';
import { idOf, type VolumeTable } from './volume-dynamodb.ts';

const SHARDS = BASE_SHARDS.work;
const HOUR_MS = 3_600_000;
/** When the hourly sweep begins. */
const SWEPT_FROM = START.getTime() + HOUR_MS / 2;
/** Messages that a lane takes per second. */
const RATE = 10;
/** From the receipt of a message until its row has left the index: an attempt, and an index that is behind. */
const HANDLED_MS = 1_100;
/** 8 µs of CPU at 256 MB, a seventh of a core. */
const ROW_MS = 0.055;
const INDEX = 'log/work_index';

/** Numbers of a channel and of a priority. @param part 0…1 of all rows, the oldest first */
type KindOf = (part: number, row: number) => readonly [channel: number, priority: number];

/** Which rows are due. */
const MIXES = {
  'all kinds by turns': (_, row) => [row % 4, (row >> 2) % 4],
  'two channels behind those of another': (part, row) => [part < 0.99 ? 1 : row % 2 ? 0 : 3, 3],
  'urgent ones of one channel, and info': (part) => [3, part < 0.3 ? 0 : 3],
} as const satisfies Record<string, KindOf>;

export interface BacklogOptions {
  readonly mix: keyof typeof MIXES;
  /** How many due rows each of the simulated ones stands for: it takes their time, and their units. */
  readonly weight?: number;
  /** Milliseconds from the beginning of the sweep to the end, and of an invocation. */
  readonly for_ms?: number;
  readonly timeout_ms?: number;
  readonly handled_ms?: number;
}

const [WAITING, SENT, TAKEN, GONE] = [0, 1, 2, 3];

/** The rows of a backlog: a number per row tells all of it. */
class Backlog {
  readonly states: Uint8Array;
  readonly #kinds: Uint8Array;
  readonly #partitions: Map<string, Int32Array>;
  readonly #count: number;

  constructor(count: number, kindOf: KindOf) {
    this.#count = count;
    this.states = new Uint8Array(count);
    this.#kinds = Uint8Array.from({ length: count }, (_, row) => {
      const [channel, priority] = kindOf(row / count, row);
      return (channel << 5) | (priority << 3) | shardOf(idOf(row), SHARDS);
    });
    const sizes = new Map<string, number>();
    for (let row = 0; row < count; row++) sizes.set(this.#queueOf(row), (sizes.get(this.#queueOf(row)) ?? 0) + 1);
    this.#partitions = new Map([...sizes].map(([name, size]) => [name, new Int32Array(size)]));
    for (let row = count - 1; row >= 0; row--) {
      const queue = this.#queueOf(row);
      const place = (sizes.get(queue) ?? 0) - 1;
      sizes.set(queue, place);
      const rows = this.#partitions.get(queue);
      if (rows) rows[place] = row;
    }
  }

  channelOf = (row: number): Channel => CHANNELS[(this.#kinds[row] ?? 0) >> 5] ?? 'email';
  priorityOf = (row: number) => PRIORITIES[((this.#kinds[row] ?? 0) >> 3) & 3] ?? 'info';
  laneOf = (row: number): Lane => PRIORITY_POLICY[this.priorityOf(row)].lane;
  #queueOf = (row: number) => `due#${this.priorityOf(row)}#${(this.#kinds[row] ?? 0) & (SHARDS - 1)}`;
  /** Before the last interval, which an express run would take. */
  #workAt = (row: number) =>
    new Date(START.getTime() - 3 * HOUR_MS + Math.floor((row * HOUR_MS) / this.#count)).toISOString();

  get table(): VolumeTable {
    const rowsOf = (partition: string) => this.#partitions.get(partition) ?? new Int32Array();
    return {
      size: (partition) => rowsOf(partition).length,
      rowAt: (partition, at) => rowsOf(partition)[at] ?? 0,
      placeOf: (partition, row) => {
        const rows = rowsOf(partition);
        let low = 0;
        for (let high = rows.length; low < high; ) {
          const middle = (low + high) >> 1;
          if ((rows[middle] ?? 0) < row) low = middle + 1;
          else high = middle;
        }
        return low;
      },
      bytes: () => 150,
      sort: this.#workAt,
      isGone: (row) => this.states[row] === GONE,
      fits: (row, channels) => channels.length === 0 || channels.includes(this.channelOf(row)),
      item: (row): Item => ({
        log_id: { S: idOf(row) },
        tenant_id: { S: 'tenant-1' },
        channel: { S: this.channelOf(row) },
        priority: { S: this.priorityOf(row) },
        work_at: { S: this.#workAt(row) },
        work_queue: { S: this.#queueOf(row) },
      }),
    };
  }
}

/** A sweep over rows that are all due, whose lanes have work for hours. */
export async function sweepBacklog(volume: Volume, options: BacklogOptions) {
  const { mix, weight = 1, for_ms = HOUR_MS, timeout_ms, handled_ms = HANDLED_MS } = options;
  const { time } = volume;
  volume.begun = SWEPT_FROM;
  const rows = new Backlog(volume.count, MIXES[mix]);
  const { client } = volume.store({ [INDEX]: rows.table }, { item_ms: ROW_MS, weight });
  const index = createDueIndex(client, 'log', async () => SHARDS);
  const lanes = CHANNELS.flatMap((channel) => LANES.map((lane) => new SimulatedLane(volume, channel, lane, rows)));
  for (let row = 0; row < volume.count; row++) {
    const lane = lanes.find(({ channel, lane }) => channel === rows.channelOf(row) && lane === rows.laneOf(row));
    if (lane) lane.left += 1;
  }
  const counts: Record<string, number> = {};
  const count = (what: string, by = 1) => {
    counts[what] = (counts[what] ?? 0) + by;
  };
  const queues = Object.fromEntries(
    CHANNELS.map((one) => [
      one,
      Object.fromEntries(lanes.flatMap(({ channel, lane, queue }) => (channel === one ? [[lane, queue]] : []))),
    ]),
  ) as PerLane<SimulatedQueue<QueueMessage>>;
  const swept: Swept = {
    time,
    seed: 1,
    index,
    scenario: {},
    budgets: { channels: new Map() },
    queues,
    count,
    ...(timeout_ms !== undefined && { timeout_ms }),
    env: (ports) => volume.env(ports),
    fault: (error) => void volume.faults.push(String(error)),
    isBlackout: () => false,
    queue: (message) => {
      const row = Number(message.log_id.slice(4));
      count(rows.states[row] === WAITING ? 'sent' : 'sent twice');
      if (rows.states[row] === WAITING) rows.states[row] = SENT;
      queues[message.channel][PRIORITY_POLICY[message.priority].lane].send(message, 0);
    },
  };
  startDispatcher(swept);
  const everySecond = () => {
    time.at(time.now + 1_000, everySecond);
    for (const lane of lanes) lane.work(handled_ms);
    if (time.now % 10_000 === 0) volume.reached((time.now - SWEPT_FROM) / for_ms);
  };
  time.at(SWEPT_FROM + 1_000, everySecond);
  await time.runUntil(() => time.now >= SWEPT_FROM + for_ms || lanes.every(({ left }) => left === 0));
  const invocations = 1 + (counts['sweeps continued'] ?? 0);
  const { sent = 0, 'sent twice': twice = 0 } = counts;
  return {
    shown: { invocations, sent, 'sent twice': twice },
    holds: { 'a message is sent': sent > 0, 'no sweep fails': counts['sweeps failed'] === undefined },
    queues: lanes.map(({ queue }) => queue),
    budgets: [['seconds for which a lane with work is empty', Math.max(...lanes.map(({ longest }) => longest)), 30]],
  } satisfies Found;
}

/** A lane whose workers take so many messages per second. */
class SimulatedLane {
  readonly channel: Channel;
  readonly lane: Lane;
  readonly queue: SimulatedQueue<QueueMessage>;
  /** Rows that no worker has received. */
  left = 0;
  /** Seconds without a message, though rows are left: now, and at most. */
  #empty = 0;
  longest = 0;
  readonly #rows: Backlog;
  readonly #volume: Volume;

  constructor(volume: Volume, channel: Channel, lane: Lane, rows: Backlog) {
    [this.channel, this.lane, this.#rows, this.#volume] = [channel, lane, rows, volume];
    const groupOf = ({ tenant_id }: QueueMessage) => tenant_id;
    this.queue = new SimulatedQueue(volume.time, { visibility_ms: 360_000, max_receives: 5, groupOf });
  }

  work(handled_ms: number): void {
    const { time } = this.#volume;
    const { states } = this.#rows;
    const received = this.queue.receive(RATE);
    this.#empty = received.length === 0 && this.left > 0 ? this.#empty + 1 : 0;
    this.longest = Math.max(this.longest, this.#empty);
    for (const { message, message_id } of received) {
      const row = Number(message.log_id.slice(4));
      if (states[row] !== TAKEN && states[row] !== GONE) this.left -= 1;
      if (states[row] !== GONE) states[row] = TAKEN;
      const end = () => {
        this.queue.delete(message_id);
        states[row] = GONE;
      };
      if (handled_ms === 0) end();
      else time.at(time.now + handled_ms, end);
    }
  }
}

export const BACKLOGS: readonly NamedVolume[] = [
  {
    name: 'backlog-5-million',
    describes: 'an hour of a sweep over due rows of all channels and priorities, whose lanes take ten a second each',
    notifications: 5_000_000,
    volume: (volume) => sweepBacklog(volume, { mix: 'all kinds by turns' }),
  },
  {
    name: 'backlog-10-million',
    describes: 'the same with the rows of two channels behind those of another one, whose lane is full',
    notifications: 10_000_000,
    volume: (volume) => sweepBacklog(volume, { mix: 'two channels behind those of another' }),
  },
];
