import { describe, expect, it } from 'vitest';
import type { Channel, Priority } from '../../../src/core/model/channels.ts';
import type { QueuedMessage } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY, PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { DueIndex, DueItem, PageCursor } from '../../../src/core/model/work-index.ts';
import { LaneRooms } from '../../../src/core/sweep/lane-room.ts';
import { type SweepCursor, type SweepDeps, sweep } from '../../../src/core/sweep/sweep.ts';
import { Dispatcher } from '../../../src/core/sweep/sweep-dispatcher.ts';
import { newTally } from '../../../src/core/sweep/sweep-run.ts';
import { REFILL_EVERY_MS, TopUp } from '../../../src/core/sweep/top-up.ts';
import { iso, T0, unasked } from '../../support/rows.ts';

const HOUR = 3_600_000;
const SHARDS = 8;
/** How many rows stand for those of a size: each of them costs the time of many. CI takes as many as there are. */
const STAND_INS = Number(process.env['SWEPT_ROWS'] ?? 100_000);
/** Messages per second and lane. */
const RATE = 10;
/** 8 µs of CPU at 256 MB, a seventh of a core. */
const ROW_MS = 0.055;
const MESSAGE_MS = 0.45;
const PAGE_MS = 5;
/** Of a row that the index leaves out: a partition reads 3,000 units of 8 KB a second. */
const LEFT_OUT_MS = 0.006;
const REQUEST_MS = 10;

interface Entry extends DueItem {
  readonly at: number;
  isSent?: boolean;
  isTaken?: boolean;
}

/** A stage whose rows are due all at once, and lanes with workers. */
function stage(rows: number, kindOf: (part: number, i: number) => readonly [Channel, Priority]) {
  const rowMs = (ROW_MS * rows) / STAND_INS;
  const partitions = new Map<string, Entry[]>();
  const left = new Map<string, number>();
  const laneOf = ({ channel, priority }: Pick<DueItem, 'channel' | 'priority'>) =>
    `${channel}-${PRIORITY_POLICY[priority].lane}`;
  for (let i = 0; i < STAND_INS; i++) {
    const [channel, priority] = kindOf(i / STAND_INS, i);
    const queue = `due#${priority}#${i % SHARDS}`;
    const entries = partitions.get(queue) ?? [];
    partitions.set(queue, entries);
    const work_at = iso(-HOUR + i);
    const item = { log_id: `log-${i}`, tenant_id: 'tenant-1', channel, priority, work_at, at: entries.length };
    entries.push(item);
    left.set(laneOf(item), (left.get(laneOf(item)) ?? 0) + 1);
  }
  const byId = new Map([...partitions.values()].flat().map((entry) => [entry.log_id, entry]));
  const queues = new Map<string, string[]>();
  const empty = new Map<string, number>();
  const figures = { longestEmpty: 0, sent: 0, twice: 0, invocations: 0 };
  let now = T0.getTime();

  const advance = (ms: number) => {
    now += ms;
    for (const [lane, remaining] of left) {
      const queue = queues.get(lane) ?? [];
      const room = (RATE * ms) / 1_000 + (owed.get(lane) ?? 0);
      const taken = queue.splice(0, Math.floor(room));
      owed.set(lane, queue.length === 0 ? 0 : room - Math.floor(room));
      let gone = 0;
      for (const log_id of taken) {
        const entry = byId.get(log_id);
        if (entry === undefined || entry.isTaken) continue;
        entry.isTaken = true;
        gone += 1;
      }
      left.set(lane, remaining - gone);
      const isIdle = queue.length === 0 && remaining - gone > 0;
      empty.set(lane, isIdle ? (empty.get(lane) ?? 0) + ms : 0);
      if (isIdle) figures.longestEmpty = Math.max(figures.longestEmpty, empty.get(lane) ?? 0);
    }
  };
  const owed = new Map<string, number>();

  const index: DueIndex = {
    shards: async () => SHARDS,
    async page(work_queue, { limit, after, channels }) {
      const entries = partitions.get(work_queue) ?? [];
      const items: Entry[] = [];
      let at = Number(after?.['at'] ?? 0);
      let read = 0;
      for (; at < entries.length && read < limit; at++) {
        const entry = entries[at];
        if (entry === undefined || entry.isTaken) continue;
        read += 1;
        if (channels?.includes(entry.channel) ?? true) items.push(entry);
      }
      const leftOutMs = (LEFT_OUT_MS * rows) / STAND_INS / SHARDS;
      advance(PAGE_MS / SHARDS + (read - items.length) * leftOutMs + items.length * rowMs);
      const next: PageCursor | undefined = at < entries.length ? { at } : undefined;
      return { items, ...(next && { next }) };
    },
  };
  const lanes: SweepDeps['lanes'] = {
    backlog: async (channel, lane) => {
      advance(REQUEST_MS / 8);
      return queues.get(`${channel}-${lane}`)?.length ?? 0;
    },
    send: async (messages: readonly QueuedMessage[]) => {
      for (const { message } of messages) {
        const queue = queues.get(laneOf(message)) ?? [];
        queues.set(laneOf(message), queue);
        const entry = byId.get(message.log_id);
        if (entry?.isSent || entry?.isTaken) figures.twice += 1;
        if (entry) entry.isSent = true;
        queue.push(message.log_id);
      }
      figures.sent += messages.length;
      advance(messages.length * MESSAGE_MS);
      return [];
    },
  };

  /** The sweep, until the lanes have worked for so long. */
  async function run(forMs: number, invocationMs: number): Promise<typeof figures> {
    const end = now + forMs;
    let next: SweepCursor | undefined;
    do {
      const deadline = Math.min(now + invocationMs, end);
      const deps: SweepDeps = {
        index,
        foresee: unasked,
        lanes,
        clock: () => new Date(now),
        interval_ms: HOUR,
        policy: DEFAULT_RETRY_POLICY,
        outOfTime: () => now >= deadline,
        sweeps: {
          lastCompleted: async () => undefined,
          lastExpress: async () => undefined,
          lastAhead: async () => undefined,
        },
        short_lanes: { seconds: 300, least: 500, pause: async (ms) => advance(ms) },
      };
      const part = await sweep({}, { run_id: 'sweep-1', ...(next && { from: next }) }, deps);
      next = part.next && (JSON.parse(JSON.stringify(part.next)) as SweepCursor);
      figures.invocations += 1;
    } while (next !== undefined && now < end);
    return figures;
  }
  return { run };
}

const CHANNELS = ['email', 'slack', 'teams', 'webhook'] as const;
const PRIORITIES = ['urgent', 'important', 'normal', 'info'] as const;
const KINDS = {
  'all kinds by turns': (_: number, i: number) => [CHANNELS[i % 4] ?? 'email', PRIORITIES[(i >> 2) % 4] ?? 'info'],
  'two channels behind those of another': (part, i) =>
    part < 0.99 ? ['slack', 'info'] : i % 2 ? ['email', 'info'] : ['webhook', 'info'],
  'urgent ones of one channel, and info': (part: number) => ['webhook', part < 0.3 ? 'urgent' : 'info'],
} as const satisfies Record<string, Parameters<typeof stage>[1]>;

it.each([
  [10_000_000, 870_000, 'urgent ones of one channel, and info'],
  [10_000_000, 870_000, 'all kinds by turns'],
  [10_000_000, 870_000, 'two channels behind those of another'],
  [5_000_000, 45_000, 'two channels behind those of another'],
  // It goes on in others, which do not know what the last one has sent: at most what the lanes hold.
  [5_000_000, 45_000, 'all kinds by turns'],
] as const)(
  'keeps every lane at work while it walks %d rows, %d ms at a time: %s',
  async (rows, invocationMs, kinds) => {
    const figures = await stage(rows, KINDS[kinds]).run(150_000, invocationMs);
    expect(figures.invocations).toBe(Math.ceil(150_000 / invocationMs));
    expect(figures.longestEmpty).toBeLessThanOrEqual(30_000);
    expect(figures.twice).toBeLessThanOrEqual((figures.invocations - 1) * 8 * 100);
  },
);

describe('the lanes of a sweep that goes on', () => {
  const LANE = 'email-standard';

  /** An index with 400 rows of the lane, before the place to which the walk has come. */
  function looking({ held, messages }: { readonly held: number; readonly messages: number }) {
    const items = Array.from({ length: 400 }, (_, i): DueItem => {
      const work_at = iso(-HOUR + i);
      return { log_id: `log-${i}`, tenant_id: 'tenant-1', channel: 'email', priority: 'info', work_at };
    });
    let now = T0.getTime();
    const sent: QueuedMessage[] = [];
    const asked: (readonly Channel[] | undefined)[] = [];
    const deps = {
      index: {
        shards: async () => 1,
        page: async (_: string, { channels }: { readonly channels?: readonly Channel[] }) => {
          asked.push(channels);
          return { items };
        },
      },
      lanes: {
        backlog: async () => messages,
        send: async (given: readonly QueuedMessage[]) => {
          sent.push(...given);
          return [];
        },
      },
      clock: () => new Date(now),
      interval_ms: HOUR,
      policy: DEFAULT_RETRY_POLICY,
    };
    const state = { limit: 500, messages, before: 0, at: now, held };
    const rooms = new LaneRooms({ seconds: 300, least: 500 }, { [LANE]: state });
    const tally = newTally('sweep-1', false);
    const run = { run_id: 'sweep-1', now: T0, unmet: new Map(), busy: new Set<string>(), rooms, sent: 0 };
    const dispatcher = new Dispatcher({}, run, tally, deps);
    const topUp = new TopUp({ rooms, queues: [['due#info#0']], until: iso(0) }, dispatcher, deps);
    const look = async (isWalked: boolean) => {
      now += REFILL_EVERY_MS;
      await topUp.look(isWalked);
      return { sent: sent.length, asked };
    };
    return { look };
  }

  it('are filled when they are half empty, from the first row that an earlier part may have left', async () => {
    const { look } = looking({ held: 300, messages: 100 });
    // Of the first hundred nobody knows whether they have a message.
    expect(await look(false)).toEqual({ sent: 300, asked: [['email']] });
  });

  it('are searched for while they are empty, and no more once all rows were met', async () => {
    expect(await looking({ held: 0, messages: 0 }).look(false)).toEqual({ sent: 400, asked: [['email']] });
    expect(await looking({ held: 0, messages: 0 }).look(true)).toEqual({ sent: 0, asked: [] });
  });
});
