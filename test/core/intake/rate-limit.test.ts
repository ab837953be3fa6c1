import { describe, expect, it } from 'vitest';
import {
  createSharedLimit,
  createTokenBuckets,
  MAX_KEYS,
  type RequestCounts,
} from '../../../src/core/intake/rate-limit.ts';
import { T0 } from '../../support/rows.ts';

const LIMIT = 20;

/** Instances that share one store, each with its own bucket before it, as a function's have. */
function setUp(instances: number) {
  let now = T0.getTime();
  const clock = () => new Date(now);
  const stored = new Map<string, number>();
  const world = { writes: 0, away: false, faults: [] as unknown[] };
  const counts: RequestCounts = {
    async add(key_id, second, requests) {
      world.writes += 1;
      if (world.away) throw new Error('away');
      const total = (stored.get(`${key_id}#${second}`) ?? 0) + requests;
      stored.set(`${key_id}#${second}`, total);
      return total;
    },
  };
  const onFault = (error: unknown) => world.faults.push(error);
  const all = Array.from({ length: instances }, () => {
    const takeToken = createTokenBuckets(clock);
    const countRequest = createSharedLimit({ counts, clock, onFault });
    return async (key: string, limit: number) => takeToken(key, limit) || (await countRequest(key, limit));
  });
  /** Requests that come in turn to one instance after the other. @returns the waits told, 0 where it may pass. */
  const ask = async (requests: number, { key = 'key', limit = LIMIT, of = instances } = {}) => {
    const waits: number[] = [];
    for (let i = 0; i < requests; i++) waits.push((await all[i % of]?.(key, limit)) ?? Number.NaN);
    return waits;
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { ask, pass, world };
}

const passed = (waits: readonly number[]) => waits.filter((wait) => wait === 0).length;

describe('a limit that ten instances share', () => {
  it('lets two seconds’ worth through at once, then a second’s worth a second, and less than a report an instance', async () => {
    const { ask, pass } = setUp(10);
    const first = await ask(100);
    // An instance reports by fours: the forty allowed, and three of each that are not reported yet.
    expect(passed(first)).toBe(2 * LIMIT + 10 * 3);
    expect(first.at(-1)).toBe(1_000);
    for (let second = 1; second <= 3; second++) {
      pass(1_000);
      expect(passed(await ask(100))).toBe(LIMIT + 10 * 3);
    }
  });

  it('refuses until the second is over, and costs nothing meanwhile', async () => {
    const { ask, pass, world } = setUp(10);
    await ask(100);
    const { writes } = world;
    pass(400);
    expect(new Set(await ask(50))).toEqual(new Set([600]));
    expect(world.writes).toBe(writes);
    pass(600);
    expect(passed(await ask(1))).toBe(1);
  });

  it('lets two seconds’ worth through again after two quiet seconds, and never more', async () => {
    const { ask, pass } = setUp(10);
    await ask(100);
    pass(60_000);
    expect(passed(await ask(100))).toBe(2 * LIMIT + 10 * 3);
  });

  it('is one of the key’s own', async () => {
    const { ask } = setUp(10);
    await ask(100);
    expect(passed(await ask(20, { key: 'another' }))).toBe(20);
  });

  it('writes once for each fifth of a second’s worth, and not at all for less than that', async () => {
    const { ask, world } = setUp(1);
    await ask(19, { limit: 100 });
    expect(world.writes).toBe(0);
    await ask(81, { limit: 100 });
    expect(world.writes).toBe(5);
  });

  it('is exact at one a second', async () => {
    const { ask, pass } = setUp(3);
    expect(passed(await ask(9, { limit: 1 }))).toBe(2);
    pass(1_000);
    expect(passed(await ask(9, { limit: 1 }))).toBe(1);
  });

  it('leaves a producer alone that keeps to it, whichever instance it meets', async () => {
    const { ask, pass } = setUp(10);
    for (let i = 0; i < 200; i++) {
      expect(await ask(1, { of: 1 + (i % 10) })).toEqual([0]);
      pass(1_000 / LIMIT);
    }
  });

  it('is each instance’s own while the store is away, which is told once', async () => {
    const { ask, pass, world } = setUp(1);
    world.away = true;
    expect(passed(await ask(100))).toBe(2 * LIMIT);
    expect(world.writes).toBe(1);
    pass(1_000);
    expect(passed(await ask(100))).toBe(LIMIT);
    expect(world.faults).toHaveLength(1);
    world.away = false;
    pass(1_000);
    await ask(100);
    world.away = true;
    pass(1_000);
    await ask(100);
    expect(world.faults).toHaveLength(2);
  });
});

describe('a limit that is counted by one instance alone', () => {
  function counting(add: RequestCounts['add'], onFault?: (error: unknown) => void) {
    let now = T0.getTime();
    const count = createSharedLimit({ counts: { add }, clock: () => new Date(now), ...(onFault && { onFault }) });
    const pass = (ms: number) => {
      now += ms;
    };
    return { count, pass };
  }

  it('keeps what was not used for the next second, and no more than two seconds’ worth', async () => {
    const totals = new Map<number, number>();
    const { count, pass } = counting(async (_, second, requests) => {
      totals.set(second, (totals.get(second) ?? 0) + requests);
      return totals.get(second) ?? 0;
    });
    const passing = async (requests: number) => {
      let through = 0;
      for (let n = 0; n < requests; n++) through += (await count('key', 5)) === 0 ? 1 : 0;
      return through;
    };
    expect(await passing(7)).toBe(7);
    pass(1_000);
    expect(await passing(20)).toBe(8);
    pass(1_000);
    expect(await passing(20)).toBe(5);
    pass(60_000);
    expect(await passing(20)).toBe(10);
  });

  it('counts what is not reported yet as used, and lets everything through while the counts are away', async () => {
    const { count, pass } = counting(() => Promise.reject(new Error('away')));
    for (let n = 0; n < 50; n++) expect(await count('key', 5)).toBe(0);
    pass(1_000);
    expect(await count('key', 5)).toBe(0);
  });

  it('forgets the key that was used longest ago when there are too many', async () => {
    let asked = 0;
    const { count: again } = counting(async () => {
      asked += 1;
      return 3;
    });
    await again('first', 1);
    for (let n = 0; n < MAX_KEYS - 1; n++) await again(`other-${n}`, 1);
    asked = 0;
    await again('first', 1);
    expect(asked).toBe(0);
    await again('one more', 1);
    asked = 0;
    await again('first', 1);
    expect(asked).toBe(1);
  });
});
