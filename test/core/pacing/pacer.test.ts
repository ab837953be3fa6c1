import { describe, expect, it } from 'vitest';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import { budgetStatus, isWaiting } from '../../../src/core/pacing/budget-status.ts';
import { DEFAULT_PACING_POLICY } from '../../../src/core/pacing/pacing-policy.ts';
import type { Ask } from '../../../src/core/pacing/plan-reservation.ts';
import type { PacingStore } from '../../../src/core/pacing/registers.ts';
import { MemoryPacing } from '../../../tools/simulation/twins/pipeline-state.ts';
import { pacerAt } from '../../support/pacing.ts';

const START = Date.parse('2026-03-01T10:30:00.000Z');
const LIMITS: AccountLimits = { per_second: 100, sent_24h: 0, sending: true, enforcement: 'HEALTHY', production: true };

function setUp(limits: Partial<AccountLimits> = {}) {
  const memory = new MemoryPacing();
  const world = { now: START, limits: { ...LIMITS, ...limits }, asked: 0, faults: [] as unknown[] };
  const worker = (store: PacingStore = memory.store) =>
    pacerAt(() => new Date(world.now), {
      store,
      readLimits: async () => {
        world.asked += 1;
        return world.limits;
      },
      onFault: (error) => world.faults.push(error),
    });
  const take = async (pacer: ReturnType<typeof worker>, count: number, use: Ask['use'] = 'standard') => {
    const [allowance] = await pacer.reserve([{ count, use }]);
    return allowance ?? { slots: [], waits: [] };
  };
  const status = () => budgetStatus('email', memory.channels.get('email') ?? {}, new Date(world.now));
  return { memory, world, worker, take, status };
}

describe('a storage that answers each call at its limit', () => {
  it('is left alone after three seconds, while others are faster each time', async () => {
    const { world } = setUp();
    const registers = { per_second: 100, read_at: START };
    let calls = 0;
    const slow = <T>(answer: T) => {
      calls += 1;
      world.now += 1_900;
      return Promise.resolve(answer);
    };
    const store = { read: () => slow(registers), change: () => slow({ applied: false, registers }) };
    const pacer = pacerAt(() => new Date(world.now), { store });
    const [allowance] = await pacer.reserve([{ count: 1, use: 'express' }]);
    expect(allowance?.slots).toHaveLength(1);
    expect(calls).toBe(2);
  });
});

describe('the rate of a line that an outage holds', () => {
  it('is that of the account, though the worker saw the budget last before that was known', async () => {
    const { memory, worker, take } = setUp();
    const reading = Promise.withResolvers<AccountLimits>();
    const first = pacerAt(() => new Date(START), { store: memory.store, readLimits: () => reading.promise });
    const asked = take(first, 1);
    const second = worker();
    await take(second, 1);
    reading.resolve(LIMITS);
    await asked;
    expect(await second.lastingPerSecond()).toBe(98);
  });

  it('is not what a refusal lowers it to for a minute', async () => {
    const { worker, take } = setUp();
    const pacer = worker();
    await take(pacer, 1);
    await pacer.exceeded('rate');
    expect(await pacer.lastingPerSecond()).toBe(98);
  });

  it('is what the worker knows while storage fails', async () => {
    const { memory, world, worker, take } = setUp();
    let broken = false;
    const read: PacingStore['read'] = (id) => (broken ? Promise.reject(new Error('slow down')) : memory.store.read(id));
    const pacer = worker({ ...memory.store, read });
    await take(pacer, 1);
    broken = true;
    expect(await pacer.lastingPerSecond()).toBe(98);
    expect(world.faults).toHaveLength(1);
  });
});

describe('slots that a small batch takes ahead for the next ones of its worker', () => {
  const single = (use: Ask['use'] = 'standard'): Ask => ({ count: 1, use, lane: 'standard' });
  const setUpAhead = async (limits: Partial<AccountLimits> = {}) => {
    const all = setUp(limits);
    const pacer = all.worker();
    await pacer.reserve([single()]);
    const before = all.memory.writes;
    return { ...all, pacer, written: () => all.memory.writes - before };
  };

  it.each([
    // Half a second's of 98 are 49, of which each of fifteen workers may hold three.
    { of: 'three', per_second: 100, after_ms: 500, served: 3 },
    { of: 'twelve', per_second: 500, after_ms: 500, served: 12 },
    { of: 'none, where a worker has no part of half a second,', per_second: 14, after_ms: 500, served: 0 },
    { of: 'those that the budget would still keep', per_second: 14, after_ms: 70, served: 6 },
  ])('serve $of at once, without a write', async ({ per_second, after_ms, served }) => {
    const { world, pacer, written } = await setUpAhead({ per_second });
    for (let i = 0; i < served; i++) {
      world.now += after_ms;
      const [answer] = await pacer.reserve([single(i % 2 === 0 ? 'express' : 'standard')]);
      expect(answer).toMatchObject({ waits: [] });
      expect(answer?.slots[0]).toBeLessThanOrEqual(world.now);
    }
    expect(written()).toBe(0);
    world.now += after_ms;
    await pacer.reserve([single()]);
    expect(written()).toBe(1);
  });

  it.each<[string, readonly Ask[], number]>([
    ['a full batch, as a flood has', [{ ...single(), count: 10 }], 0],
    ['a less important use', [single('info')], 0],
    ['anyone after ten seconds', [single()], 10_000],
  ])('do not serve %s', async (_, asks, after_ms) => {
    const { world, pacer, written } = await setUpAhead();
    world.now += after_ms;
    await pacer.reserve(asks);
    expect(written()).toBe(1);
  });

  it('are given up when SES refuses an e-mail for the rate', async () => {
    const { pacer, written } = await setUpAhead();
    await pacer.exceeded('rate');
    await pacer.reserve([single()]);
    expect(written()).toBe(2);
  });

  it('count as sent no longer than until the next reservation', async () => {
    const { world, pacer, status } = await setUpAhead({ max_24h: 10_000 });
    expect(status().sent_24h).toBe(13);
    world.now += 20_000;
    await pacer.reserve([{ ...single(), count: 10 }]);
    expect(status().sent_24h).toBe(11);
  });

  it.each([
    ['near the quota', { max_24h: 400 }, 1],
    ['where the budget has kept none', {}, 48],
  ])('are not taken %s', async (_, limits, others) => {
    const { worker, take, status } = setUp({ max_24h: 1e6, ...limits });
    await take(worker(), others);
    await worker().reserve([single()]);
    expect(status().sent_24h).toBe(others + 1);
  });

  it.each<[Ask['use'], number]>([
    ['standard', 500],
    // A call to SES begins with the first of its slots, and its last one is 0.7 s ahead: a second, as SES forgives.
    ['newsletter', 300],
  ])('are kept for %s for %i ms', async (use, kept_ms) => {
    const { world, worker, take } = setUp();
    expect((await take(worker(), 100, use)).slots[0]).toBeCloseTo(world.now - kept_ms, 3);
  });

  it('are taken by what the budget is now, which is read if it was seen long ago; a newsletter does not', async () => {
    const { memory, world, worker, take } = setUp();
    let reads = 0;
    const read = (id: string) => {
      reads += 1;
      return memory.store.read(id);
    };
    const pacer = worker({ ...memory.store, read });
    await take(pacer, 50, 'newsletter');
    await take(worker(), 50, 'newsletter');
    const [before, written] = [reads, memory.writes];
    world.now += 200;
    await pacer.reserve([single()]);
    expect([reads - before, memory.writes - written]).toEqual([1, 1]);
    world.now += 200;
    await take(pacer, 50, 'newsletter');
    expect(reads - before).toBe(1);
  });

  it('cost others neither rate nor time when their worker dies', async () => {
    const { world, worker, take } = await setUpAhead();
    const times: number[] = [];
    const other = worker();
    for (let i = 0; i < 20; i++) {
      times.push(...(await take(other, 5, 'express')).slots.map((slot) => Math.max(0, slot - world.now)));
      world.now += 52;
    }
    expect(times).toHaveLength(100);
    expect(Math.max(...times)).toBeLessThanOrEqual(100);
  });
});

describe('the limits of the account', () => {
  it('are read by one worker at a time, and again after five minutes', async () => {
    const { world, worker, take, status } = setUp();
    const workers = Array.from({ length: 5 }, () => worker());
    await Promise.all(workers.map((one) => take(one, 1)));
    expect(world.asked).toBe(1);
    world.now += 299_000;
    await Promise.all(workers.map((one) => take(one, 1)));
    expect(world.asked).toBe(1);
    world.limits = { ...world.limits, per_second: 50 };
    world.now += 2_000;
    await Promise.all(workers.map((one) => take(one, 1)));
    expect(world.asked).toBe(2);
    expect(status()).toMatchObject({ allowed_per_second: 50, per_second: 49 });
  });

  it('are asked for once a minute at most while SES does not answer; e-mail then goes at the fallback rate', async () => {
    const { memory, world, take } = setUp();
    const broken = pacerAt(() => new Date(world.now), {
      store: memory.store,
      readLimits: async () => {
        world.asked += 1;
        throw new Error('denied');
      },
    });
    for (let second = 0; second < 120; second += 10) {
      world.now = START + second * 1_000;
      expect((await take(broken, 50, 'express')).slots.length).toBeLessThanOrEqual(15);
    }
    expect(world.asked).toBe(2);
  });

  it('count what was granted since they were read as sent', async () => {
    const { world, worker, take, status } = setUp({ max_24h: 10_000, sent_24h: 100 });
    const pacer = worker();
    await take(pacer, 30);
    expect(status().sent_24h).toBe(130);
    world.limits = { ...world.limits, sent_24h: 130 };
    world.now += 301_000;
    await take(pacer, 5);
    expect(status().sent_24h).toBe(135);
  });

  it.each<[string, Partial<AccountLimits>]>([
    ['sending is paused', { sending: false }],
    ['AWS has shut the account down', { enforcement: 'SHUTDOWN' }],
  ])('stop everything while %s, and are read again after a minute', async (_, limits) => {
    const { world, worker, take, status } = setUp(limits);
    const pacer = worker();
    expect(await take(pacer, 3, 'express')).toMatchObject({ slots: [], why: 'account' });
    expect(status().paused.map(({ use }) => use)).toEqual(['express', 'standard', 'info', 'newsletter']);
    world.limits = LIMITS;
    world.now += 61_000;
    expect((await take(pacer, 3, 'express')).slots).toHaveLength(3);
  });

  it('stop nothing while AWS has the account on probation', async () => {
    const { worker, take, status } = setUp({ enforcement: 'PROBATION' });
    expect((await take(worker(), 3, 'newsletter')).slots).toHaveLength(3);
    expect(status()).toMatchObject({ enforcement: 'PROBATION', paused: [] });
  });

  it('free the quota when what was sent a day ago has left the last 24 hours', async () => {
    const { world, worker, take, status } = setUp({ max_24h: 1_000, per_second: 100 });
    const pacer = worker();
    for (let i = 0; i < 20; i++) {
      await take(pacer, 100, 'newsletter');
      world.now += 1_000;
    }
    const { paused, sent_24h } = status();
    expect(sent_24h).toBe(562);
    expect(paused.map(({ use }) => use)).toEqual(['newsletter']);
    const until = Date.parse(paused[0]?.until ?? '');
    expect(until).toBeGreaterThan(START + 23 * 3_600_000);
    expect(until).toBeLessThanOrEqual(START + 25 * 3_600_000);
  });
});

describe('a refusal by SES', () => {
  it('for the rate slows all workers down, once a second at most, and wears off within a minute', async () => {
    const { world, worker, take, status } = setUp();
    const [one, other] = [worker(), worker()];
    await Promise.all([take(one, 1), take(other, 1)]);
    await Promise.all([one.exceeded('rate'), other.exceeded('rate'), one.exceeded('rate')]);
    expect(status().per_second).toBeCloseTo(98 * 0.7);
    world.now += 1_000;
    await other.exceeded('rate');
    expect(status().per_second).toBeLessThan(98 * 0.6);
    world.now += 60_000;
    expect(status().per_second).toBe(98);
  });

  it('for the day stops everything until the account is looked at again', async () => {
    const { world, worker, take } = setUp();
    const pacer = worker();
    await take(pacer, 1);
    await pacer.exceeded('quota');
    expect(await take(pacer, 1, 'express')).toMatchObject({ slots: [], why: 'quota' });
    world.now += 301_000;
    expect((await take(pacer, 1, 'express')).slots).toHaveLength(1);
  });
});

describe('a worker whose storage fails', () => {
  it('goes on alone with its part of the rate, and asks the storage again after five seconds', async () => {
    const { world, worker, take } = setUp();
    let calls = 0;
    const broken = () => {
      calls += 1;
      return Promise.reject(new Error('throttled'));
    };
    const pacer = worker({ read: broken, change: broken });
    let sent = 0;
    for (let i = 0; i < 40; i++) {
      sent += (await take(pacer, 10)).slots.length;
      world.now += 250;
    }
    const part = (DEFAULT_PACING_POLICY.fallback_per_second * 0.98) / 15;
    expect(sent).toBeGreaterThanOrEqual(Math.floor(part * 10 * 0.9));
    expect(sent).toBeLessThanOrEqual(Math.ceil(part * 11) + 1);
    expect(calls).toBeLessThanOrEqual(3);
    expect(world.faults).toHaveLength(calls);
  });
});

it('says of a lane that its messages wait, until the last of them is tried again', async () => {
  const { memory, world, worker } = setUp({ per_second: 1 });
  const registers = () => memory.channels.get('email') ?? {};
  await worker().reserve([{ count: 60, use: 'standard', lane: 'standard' }]);
  expect(isWaiting(registers(), 'standard', new Date(world.now))).toBe(true);
  expect(isWaiting(registers(), 'express', new Date(world.now))).toBe(false);
  expect(isWaiting(registers(), 'standard', new Date(world.now + 90_000))).toBe(false);
});
