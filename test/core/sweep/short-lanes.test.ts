import { describe, expect, it } from 'vitest';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import type { QueuedMessage } from '../../../src/core/model/lanes.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { messageFor, queuedFor } from '../../../src/core/model/queue-message.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { isWalked, type SweepCursor, type SweepDeps, sweep } from '../../../src/core/sweep/sweep.ts';
import { at, dueRow, T0 } from '../../support/rows.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;

const row = (log_id: string, changes: Partial<NotificationRow> = {}) =>
  dueRow({ log_id, work_queue: workQueueOf('due', changes.priority ?? 'normal', log_id), ...changes });
const rows = (name: string, count: number, changes: Partial<NotificationRow> = {}) =>
  Array.from({ length: count }, (_, i) => row(`${name}-${i}`, { ...changes, work_at: at(-count + i).toISOString() }));

/** Lanes whose workers take so many messages per second; a row that is taken leaves the index. */
function setUp(all: readonly NotificationRow[], per_second: number, more: Partial<SweepDeps> = {}) {
  let now = T0.getTime();
  const tables = new MemoryTables(() => new Date(now));
  for (const one of all) tables.log.set(one.log_id, { ...one });
  const lane: QueuedMessage[] = [];
  const sent: string[] = [];
  let longest = 0;
  let duplicates = 0;
  const pause = async (ms: number) => {
    now += ms;
    for (const { message } of lane.splice(0, (per_second * ms) / SECOND)) tables.log.delete(message.log_id);
  };
  const deps: SweepDeps = {
    index: tables.dueIndex,
    lanes: {
      backlog: async (channel, name) => (channel === 'webhook' && name === 'standard' ? lane.length : 0),
      send: async (messages) => {
        lane.push(...messages);
        duplicates += messages.filter(({ message }) => sent.includes(message.log_id)).length;
        sent.push(...messages.map(({ message }) => message.log_id));
        longest = Math.max(longest, lane.length);
        return [];
      },
    },
    clock: () => new Date(now),
    interval_ms: HOUR,
    sweeps: { lastCompleted: async () => at(-HOUR).toISOString() },
    short_lanes: { seconds: 60, least: 100, pause },
    ...more,
  };
  const run = (given: SweepDeps = deps) => sweep({}, { run_id: 'sweep-1' }, given);
  return {
    run,
    sent,
    deps,
    lane,
    pause,
    elapsed: () => (now - T0.getTime()) / SECOND,
    figures: () => ({ longest, duplicates }),
  };
}

describe('a scheduled sweep', () => {
  it('keeps a slow lane short, and fills it again until everything is sent', async () => {
    const { run, sent, figures } = setUp(rows('n', 1_000), 2);
    expect((await run()).result).toMatchObject({ due: 1_000, dispatched: 1_000, skipped: 0 });
    expect(new Set(sent).size).toBe(1_000);
    // A minute of two per second, where the least is 100.
    expect(figures().longest).toBeLessThanOrEqual(220);
    expect(figures().duplicates).toBeLessThan(50);
  });

  it('leaves out rows of a full lane whose messages wait in it, and sends those whose message was lost', async () => {
    const noted = rows('n', 300, { priority: 'urgent' }).map((one) => ({
      ...one,
      ...queuedFor(one.work_at ?? '', 'urgent', T0),
    }));
    const lost = noted.slice(100, 105).map(({ log_id }) => log_id);
    const { run, sent, deps, lane, figures } = setUp(noted, 2, {});
    const waiting = noted.filter(({ log_id }) => !lost.includes(log_id));
    await deps.lanes.send(
      waiting.map((one) => ({ message: messageFor(one, one.work_at ?? '', 'x'), delay_seconds: 0 })),
    );
    await run({
      ...deps,
      lanes: { ...deps.lanes, backlog: async (_, name) => (name === 'express' ? lane.length : 0) },
    });
    expect(sent.slice(waiting.length)).toEqual(expect.arrayContaining(lost));
    expect(figures().duplicates).toBeLessThanOrEqual(10);
  });

  it('learns within seconds that a lane is fast, so that the lane hardly waits', async () => {
    const { run, sent, elapsed } = setUp(rows('n', 6_000), 200);
    await run();
    expect(new Set(sent).size).toBe(6_000);
    expect(elapsed()).toBeLessThan(45);
  });

  it('sends normal before info from what waits, also what a later sweep finds', async () => {
    const { run, sent, deps, pause } = setUp(rows('info', 600, { priority: 'info' }), 2, { interval_ms: 60 * SECOND });
    const first = await run();
    expect(first.result.dispatched).toBeLessThan(400);
    expect(first.result.dispatched + first.result.skipped).toBe(600);
    await pause(1);
    const later = { ...deps, interval_ms: 120 * SECOND };
    const before = sent.length;
    const urgent = row('normal', { work_at: at(30 * SECOND).toISOString() });
    const page = deps.index.page;
    const index: SweepDeps['index'] = {
      ...deps.index,
      page: async (queue, query) => {
        const found = await page(queue, query);
        return queue === urgent.work_queue ? { ...found, items: [urgent as never, ...found.items] } : found;
      },
    };
    await sweep({}, { run_id: 'sweep-2' }, { ...later, index });
    expect(sent.slice(before)[0]).toBe('normal');
  });

  it('continues itself while lanes are full, knows then that it has walked the index, and ends before the next sweep', async () => {
    let pauses = 0;
    const world = setUp(rows('n', 800), 2);
    const short_lanes = {
      ...{ seconds: 60, least: 100 },
      pause: async (ms: number) => {
        pauses += 1;
        await world.pause(ms);
      },
    };
    const deps = { ...world.deps, short_lanes, interval_ms: 200 * SECOND };
    const totals = { due: 0, dispatched: 0, skipped: 0 };
    let from: SweepCursor | undefined;
    let parts = 0;
    do {
      const until = pauses + 7;
      const run = { run_id: 'sweep-1', ...(from && { from }) };
      const { result, next } = await sweep({}, run, { ...deps, outOfTime: () => pauses >= until });
      for (const name of ['due', 'dispatched', 'skipped'] as const) totals[name] += result[name];
      from = next && JSON.parse(JSON.stringify(next));
      if (from) expect(isWalked(from)).toBe(true);
      parts += 1;
    } while (from);
    expect(parts).toBeGreaterThan(3);
    expect(totals.due).toBe(800);
    expect(totals.skipped).toBeGreaterThan(0);
    expect(totals.dispatched + totals.skipped).toBe(800);
    expect(world.elapsed()).toBeLessThanOrEqual(210);
  });

  it('leaves an operator’s run alone: it sends everything at once', async () => {
    const { short_lanes: _, ...deps } = setUp(rows('n', 600), 2).deps;
    expect((await sweep({}, { run_id: 'manual-1' }, deps)).result).toMatchObject({ due: 600, dispatched: 600 });
  });
});
