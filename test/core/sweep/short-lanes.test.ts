import { describe, expect, it } from 'vitest';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { messageFor, type QueuedMessage, queuedFor } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY, PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { isWalked, type SweepCursor, type SweepDeps, sweep } from '../../../src/core/sweep/sweep.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { dueRow, iso, T0, unasked } from '../../support/rows.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;

const row = (log_id: string, changes: Partial<NotificationRow> = {}) =>
  dueRow({ log_id, work_queue: workQueueOf('due', changes.priority ?? 'normal', log_id), ...changes });
const rows = (name: string, count: number, changes: Partial<NotificationRow> = {}) =>
  Array.from({ length: count }, (_, i) => row(`${name}-${i}`, { ...changes, work_at: iso(-count + i) }));

/** Lanes whose workers take this number of messages per second; a row that is taken leaves the index. */
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
    foresee: unasked,
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
    policy: DEFAULT_RETRY_POLICY,
    sweeps: {
      lastCompleted: async () => iso(-HOUR),
      lastExpress: async () => undefined,
      lastAhead: async () => undefined,
    },
    short_lanes: { seconds: 60, least: 100, pause },
    ...more,
  };
  const run = (given: SweepDeps = deps) => sweep({}, { run_id: 'sweep-1' }, given);
  return {
    run,
    tables,
    sent,
    deps,
    lane,
    pause,
    elapsed: () => (now - T0.getTime()) / SECOND,
    figures: () => ({ longest, duplicates }),
  };
}

it.each([
  ['has ended', undefined, true],
  ['only waits for room in lanes', [], true],
  ['has partitions to walk', [null], false],
])('a sweep that %s has walked the whole index: %j', (_, after, expected) => {
  const cursor = after && { queue: 1, after, started: iso(), busy: [], sent: 0 };
  expect(isWalked(cursor)).toBe(expected);
});

describe('a scheduled sweep', () => {
  it('keeps a slow lane short, and fills it again until everything is sent', async () => {
    const { run, sent, figures } = setUp(rows('n', 1_000), 2);
    expect((await run()).result).toMatchObject({ due: 1_000, dispatched: 1_000, skipped: 0 });
    expect(new Set(sent).size).toBe(1_000);
    // A minute of two per second, where the least is 100.
    expect(figures().longest).toBeLessThanOrEqual(220);
    expect(figures().duplicates).toBeLessThan(50);
  });

  it.each([
    ['expected', 'urgent', T0],
    ['queued', 'normal', new Date(iso(-SECOND))],
  ] as const)(
    'leaves out %s rows of a full lane whose messages wait in it, and sends those whose message was lost',
    async (_, priority, noted_at) => {
      const noted = rows('n', 300, { priority }).map((one) => ({
        ...one,
        ...queuedFor(one.work_at ?? '', { priority }, noted_at),
      }));
      const lost = noted.slice(100, 105).map(({ log_id }) => log_id);
      const { run, sent, deps, lane, figures } = setUp(noted, 2, {});
      const waiting = noted.filter(({ log_id }) => !lost.includes(log_id));
      await deps.lanes.send(
        waiting.map((one) => ({ message: messageFor(one, one.work_at ?? '', 'x'), delay_seconds: 0 })),
      );
      await run({
        ...deps,
        lanes: {
          ...deps.lanes,
          backlog: async (_, name) => (name === PRIORITY_POLICY[priority].lane ? lane.length : 0),
        },
      });
      expect(sent.slice(waiting.length)).toEqual(expect.arrayContaining(lost));
      expect(figures().duplicates).toBeLessThanOrEqual(10);
    },
  );

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
    const urgent = row('normal', { work_at: iso(30 * SECOND) });
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
      seconds: 60,
      least: 100,
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

  it('ends once no row waits any more, because the others have left the index', async () => {
    const all = rows('n', 300);
    const world = setUp(all, 20);
    const pause = async (ms: number) => {
      await world.pause(ms);
      for (const { log_id } of all) if (!world.sent.includes(log_id)) world.tables.log.delete(log_id);
    };
    const short_lanes = { seconds: 60, least: 100, pause };
    const { result } = await sweep({}, { run_id: 'sweep-1' }, { ...world.deps, short_lanes });
    expect(result).toMatchObject({ due: 300, dispatched: 100, skipped: 0 });
    expect(world.elapsed()).toBe(5);
  });

  it('waits for rows that a walk did not show while their lane still holds messages', async () => {
    const world = setUp(rows('n', 160), 12);
    let walks = 0;
    const page: SweepDeps['index']['page'] = async (queue, query) => {
      const found = await world.deps.index.page(queue, query);
      // An index may show a row a moment later than its table.
      const hidden = walks === 1 ? ['n-155', 'n-156', 'n-157', 'n-158', 'n-159'] : [];
      return { ...found, items: found.items.filter(({ log_id }) => !hidden.includes(log_id)) };
    };
    const pause = async (ms: number) => {
      walks += 1;
      await world.pause(ms);
    };
    const deps = {
      ...world.deps,
      short_lanes: { seconds: 60, least: 100, pause },
      index: { ...world.deps.index, page },
    };
    await sweep({}, { run_id: 'sweep-1' }, deps);
    expect(new Set(world.sent).size).toBe(160);
  });

  it('leaves no row to the next sweep because it took rows that workers have received for rows that had not fit', async () => {
    const all = new Map(rows('n', 1_000).map((one) => [one.log_id, one]));
    const world = setUp([...all.values()], 8);
    let received: string[] = [];
    const pause = async (ms: number) => {
      // Received messages are not counted in their lane; their rows leave the index when they are delivered.
      for (const log_id of received) {
        world.tables.log.delete(log_id);
        all.delete(log_id);
      }
      const ids = world.lane.map(({ message }) => message.log_id);
      await world.pause(ms);
      received = ids.slice(0, ids.length - world.lane.length);
      for (const log_id of received) {
        const row = all.get(log_id);
        if (row !== undefined) world.tables.log.set(log_id, { ...row });
      }
    };
    const short_lanes = { seconds: 20, least: 100, pause };
    await sweep({}, { run_id: 'sweep-1' }, { ...world.deps, short_lanes });
    expect(new Set(world.sent).size).toBe(1_000);
    // Each is answered by a claim that fails.
    expect(world.figures().duplicates).toBe(0);
  });

  it('still has its rows to send when time runs out in the walk after which its lane would be free', async () => {
    const world = setUp(rows('n', 300), 20);
    let asked = 0;
    let paused = false;
    const pause = async (ms: number) => {
      paused = true;
      await world.pause(ms);
    };
    const deps = {
      ...world.deps,
      short_lanes: { seconds: 60, least: 100, pause },
      outOfTime: () => paused && ++asked > 0,
    };
    const { next, result } = await sweep({}, { run_id: 'sweep-1' }, deps);
    expect(result).toMatchObject({ dispatched: 100, skipped: 0 });
    expect(next?.rooms?.['webhook-standard']).toMatchObject({ held: 200, messages: 0 });
  });

  it('leaves out as many of the first rows as the lane held before it: their messages are in the lane', async () => {
    const old = rows('old', 60).map((one, i) => ({ ...one, work_at: iso(-1.5 * HOUR - 60 + i) }));
    const world = setUp([...old, ...rows('new', 100)], 4);
    for (const { log_id, tenant_id, channel, priority, work_at } of old) {
      const due = work_at ?? '';
      const message = { version: 1, log_id, tenant_id, channel, priority, due, run_id: 'sweep-0' } as const;
      world.lane.push({ message, delay_seconds: 0 });
    }
    const { result } = await world.run();
    expect(result).toMatchObject({ due: 160, dispatched: 100 });
    expect(world.sent.filter((log_id) => log_id.startsWith('old'))).toEqual([]);
    expect(world.figures()).toMatchObject({ duplicates: 0 });
  });

  it('refills with messages of a run of their own, which cannot pass for the redrive of one that it sent before', async () => {
    const world = setUp(rows('n', 1_000), 2);
    const runs = new Set<string>();
    const send: typeof world.deps.lanes.send = (messages) => {
      for (const { message } of messages) runs.add(message.run_id);
      return world.deps.lanes.send(messages);
    };
    await world.run({ ...world.deps, lanes: { ...world.deps.lanes, send } });
    const [first, ...copies] = runs;
    expect(first).toBe('sweep-1');
    expect(copies.length).toBeGreaterThan(1);
    for (const copy of copies) expect(copy).toMatch(/^sweep-1#[0-9a-z]{8}$/);
  });

  it('refills only the lanes that have become half empty', async () => {
    const world = setUp([...rows('web', 150), ...rows('mail', 150, { channel: 'email' })], 1_000);
    const counts = { webhook: 0, email: 0 };
    const sent: string[] = [];
    let pauses = 0;
    const lanes: SweepDeps['lanes'] = {
      backlog: async (channel, name) => (name === 'standard' ? (counts[channel as 'email'] ?? 0) : 0),
      send: async (messages) => {
        for (const { message } of messages) counts[message.channel as 'email'] += 1;
        sent.push(...messages.map(({ message }) => message.log_id));
        return [];
      },
    };
    const pause = async () => {
      pauses += 1;
      await world.pause(5 * SECOND);
      // Webhooks are gone at once, mails slowly.
      for (const log_id of sent) if (log_id.startsWith('web')) world.tables.log.delete(log_id);
      Object.assign(counts, { webhook: 0, email: 95 });
    };
    const short_lanes = { seconds: 60, least: 100, pause };
    await sweep({}, { run_id: 'sweep-1' }, { ...world.deps, lanes, short_lanes, outOfTime: () => pauses > 1 });
    expect(sent.filter((log_id) => log_id.startsWith('web'))).toHaveLength(150);
    expect(sent.filter((log_id) => log_id.startsWith('mail'))).toHaveLength(100);
  });

  it('gives no room of a lane to what is sent with a delay', async () => {
    const later = Array.from({ length: 150 }, (_, i) => row(`n-${i}`, { work_at: iso(300 * SECOND + i) }));
    const { run } = setUp(later, 2);
    expect((await run()).result).toMatchObject({ due: 0, ahead: 150, skipped: 0 });
  });

  it('does not refill with what became due after it began, which the next sweep takes', async () => {
    const due = [...rows('n', 200), row('at-its-start', { work_at: iso() })];
    const queued_for = iso(2 * SECOND).slice(11, 19);
    const { run, sent } = setUp([...due, row('later', { work_at: iso(2 * SECOND), queued_for })], 20);
    await run();
    expect(sent).toContain('at-its-start');
    expect(sent).not.toContain('later');
  });

  it('sends a row whose message was lost again although its lane is full, and no more than a hundred', async () => {
    const noted = (count: number, hours: number) =>
      rows(`of-${count}`, count, {}).map((one, i) => ({ ...one, work_at: iso(-hours * HOUR - 500 + i) }));
    // Its lane is full at each sweep, and the sweep ends before it has room.
    const world = setUp([...noted(300, 2), ...noted(20, 1.5)], 0, { interval_ms: HOUR });
    const lanes = { ...world.deps.lanes, backlog: async () => 700 };
    await world.run({ ...world.deps, lanes });
    expect(world.sent).toHaveLength(100);
    expect(new Set(world.sent)).toEqual(
      new Set(
        noted(300, 2)
          .slice(0, 100)
          .map(({ log_id }) => log_id),
      ),
    );
  });

  it('leaves an operator’s run alone: it sends everything at once', async () => {
    const { short_lanes: _, ...deps } = setUp(rows('n', 600), 2).deps;
    expect((await sweep({}, { run_id: 'manual-1' }, deps)).result).toMatchObject({ due: 600, dispatched: 600 });
  });
});

it.each([
  ['stay', () => 3],
  // Their worker crashed: until its claim is over, each receive puts them back for a while.
  ['are shown now and then', (pauses: number) => pauses % 3],
])('is walked for no more than once while its messages %s, and nothing else is due', async (_, shown) => {
  const { run, deps, lane, tables } = setUp(rows('row', 130), 0);
  let pages = 0;
  const index: SweepDeps['index'] = {
    ...deps.index,
    page: (...args) => {
      pages += 1;
      return deps.index.page(...args);
    },
  };
  let pauses = 0;
  const received: QueuedMessage[] = [];
  // The workers take all but three, whose receives fail each time.
  const pause = async () => {
    await deps.short_lanes?.pause(5 * SECOND);
    received.push(...lane.splice(0));
    for (const { message } of received.splice(3)) tables.log.delete(message.log_id);
    pauses += 1;
    lane.push(...received.splice(0, shown(pauses)));
  };
  const short_lanes = { seconds: 60, least: 100, pause };
  const { result } = await run({ ...deps, index, short_lanes });
  expect(result.dispatched).toBe(130);
  const walk = 4 * 8;
  expect(pages).toBeLessThanOrEqual(5 * walk);
  expect(pauses).toBeLessThan(10);
});
