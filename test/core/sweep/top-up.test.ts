import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { QueuedMessage } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { DueItem, PageQuery } from '../../../src/core/model/work-index.ts';
import { LaneRooms } from '../../../src/core/sweep/lane-room.ts';
import { Dispatcher } from '../../../src/core/sweep/sweep-dispatcher.ts';
import { newTally } from '../../../src/core/sweep/sweep-run.ts';
import { REFILL_EVERY_MS, TopUp } from '../../../src/core/sweep/top-up.ts';
import { sweepBacklog } from '../../../tools/simulation/volume/backlog.ts';
import { Volume } from '../../../tools/simulation/volume/volume.ts';
import { iso, T0 } from '../../support/rows.ts';

const HOUR = 3_600_000;
/** How many rows stand for those of a size: each of them costs the time of many. CI takes as many as there are. */
const STAND_INS = Number(process.env['SWEPT_ROWS'] ?? 100_000);
const FOR_MS = 150_000;
/** What the dispatcher keeps for the end of an invocation. */
const RESERVE_MS = 30_000;

const SIZES = [
  [10_000_000, 870_000, 'urgent ones of one channel, and info'],
  // It goes on in others, which do not know what the last one has sent: at most what the lanes hold.
  [5_000_000, 45_000, 'all kinds by turns'],
  // In CI only.
  [10_000_000, 870_000, 'all kinds by turns'],
  [10_000_000, 870_000, 'two channels behind those of another'],
  [5_000_000, 45_000, 'two channels behind those of another'],
] as const;

it.each(process.env['SWEPT_ROWS'] === undefined ? SIZES.slice(0, 2) : SIZES)(
  'keeps every lane at work while it walks %d rows, %d ms at a time: %s',
  async (rows, invocationMs, mix) => {
    const volume = new Volume(STAND_INS);
    const times = { for_ms: FOR_MS, timeout_ms: invocationMs + RESERVE_MS };
    const { shown, holds, budgets } = await sweepBacklog(volume, { mix, weight: rows / STAND_INS, ...times });
    expect(shown.invocations).toBe(Math.ceil(FOR_MS / invocationMs));
    expect(budgets).toEqual([['seconds for which a lane with work is empty', expect.any(Number), 30]]);
    expect(budgets[0]?.[1]).toBeLessThanOrEqual(30);
    expect(shown['sent twice']).toBeLessThanOrEqual((shown.invocations - 1) * 8 * 100);
    expect([...Object.values(holds), volume.faults]).toEqual([true, true, []]);
  },
  600_000,
);

describe('the lanes of a sweep that goes on', () => {
  const LANE = 'email-standard';

  /** An index with rows of the lane, before the place to which the walk has come. */
  function looking({ held, messages, rows = 400 }: Record<'held' | 'messages', number> & { readonly rows?: number }) {
    let backlog = messages;
    const items = Array.from({ length: rows }, (_, i): DueItem => {
      const work_at = iso(-HOUR + i);
      return { log_id: `log-${i}`, tenant_id: 'tenant-1', channel: 'email', priority: 'info', work_at };
    });
    let now = T0.getTime();
    const sent: QueuedMessage[] = [];
    const asked: (readonly Channel[] | undefined)[] = [];
    const deps = {
      index: {
        shards: async () => 1,
        page: async (_: string, { channels, after }: PageQuery) => {
          asked.push(channels);
          const from = Number(after?.['from'] ?? 0);
          const next = { from: from + 400 };
          return { items: items.slice(from, next.from), ...(next.from < rows && { next }) };
        },
      },
      lanes: {
        backlog: async () => backlog,
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
    const look = async (filled?: ReadonlySet<string>, left = messages) => {
      now += REFILL_EVERY_MS;
      backlog = left;
      await topUp.look(filled);
      return { sent: sent.length, asked };
    };
    return { look, sent };
  }

  it('are filled when they are half empty, from the first row that an earlier part may have left', async () => {
    const { look } = looking({ held: 300, messages: 100 });
    // Of the first hundred nobody knows whether they have a message.
    expect(await look()).toEqual({ sent: 300, asked: [['email']] });
  });

  it('count the messages of the earlier part once: a later slice leaves out no row for them', async () => {
    const { look, sent } = looking({ held: 1_200, messages: 100, rows: 1_200 });
    for (const left of [100, 150]) await look(undefined, left);
    const ids = sent.map(({ message }) => Number(message.log_id.slice('log-'.length)));
    // Each once, and without a gap.
    expect(ids.sort((a, b) => a - b)).toEqual(ids.map((_, i) => 100 + i));
    expect(ids.length).toBeGreaterThan(600);
  });

  it('know of the messages that a try of the same part had sent before it died', async () => {
    const { look, sent } = looking({ held: 1_200, messages: 100, rows: 1_200 });
    for (const left of [500, 250]) await look(undefined, left);
    expect(sent[0]?.message.log_id).toBe('log-250');
  });

  it('are left to the refill that fills them, unless they are empty', async () => {
    const { look } = looking({ held: 300, messages: 100 });
    expect(await look(new Set([LANE]))).toMatchObject({ sent: 0 });
    expect(await look(new Set([LANE]), 0)).toMatchObject({ sent: 400 });
  });

  it('are searched for while they are empty, and no more once all rows were met', async () => {
    expect(await looking({ held: 0, messages: 0 }).look()).toEqual({ sent: 400, asked: [['email']] });
    expect(await looking({ held: 0, messages: 0 }).look(new Set())).toEqual({ sent: 0, asked: [] });
  });
});
