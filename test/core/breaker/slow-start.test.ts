import { describe, expect, it } from 'vitest';
import { draining, opened, probing, reopened, slotTime } from '../../../src/core/breaker/breaker.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import { slowStart } from '../../../src/core/breaker/open-breaker.ts';
import { heldVerdict } from '../../../src/core/delivery/verdict.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { MemoryBreakers } from '../../../tools/simulation/twins/pipeline-state.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

const HOUR = 3_600_000;
const policy = DEFAULT_BREAKER_POLICY;
const open = (per_second?: number) =>
  opened({ id: 'email#ses', error_type: 'SERVER_OVERLOAD', ...(per_second && { per_second }) }, undefined, {
    now: T0,
    policy,
  });
const passing = (breaker: ReturnType<typeof open>, ms: number) =>
  Array.from({ length: 1_000 }, (_, i) => slowStart(breaker, { now: at(ms), policy }, () => i / 1_000)).filter(
    (held) => held === undefined,
  ).length;

describe('the line of a breaker', () => {
  it.each([
    ['at the budget of the provider', 280, 280],
    ['at the most that the policy allows where no budget is known', undefined, 500],
  ])('lets go %s', (_, budget, per_second) => {
    const breaker = open(budget);
    expect(breaker).toMatchObject({ per_second });
    const [first, second] = [0, 1_000].map((slot) => slotTime(breaker.lines.standard, slot, per_second));
    expect((second ?? 0) - (first ?? 0)).toBe(Math.ceil(1_000_000 / per_second));
  });

  it('takes the budget that the gate is told when it opens', async () => {
    const memory = new MemoryBreakers();
    const gate = new BreakerGate({
      store: memory.store,
      policy,
      probe_ms: 25_000,
      clock: () => T0,
      pause: async () => {},
      budgetOf: async () => 280,
    });
    const rows = Array.from({ length: 5 }, (_, i) => dueRow({ log_id: `n-${i}`, channel: 'email' }));
    await Promise.all(
      rows.map(async (row) => {
        const admission = await gate.admit(row, false);
        if (admission.do === 'send')
          await admission.report({ ok: false, error_type: 'SERVER_OVERLOAD', message: '503' });
      }),
    );
    expect(memory.breakers.get('email#ses')).toMatchObject({ state: 'open', per_second: 280 });
    expect(gate.holds({ channel: 'email', tenant_id: 'tenant-1' })).toBe(true);
    expect(gate.holds({ channel: 'webhook', integration_config_id: 'IC1', tenant_id: 'tenant-1' })).toBe(false);
  });

  it('goes on where it ended when its rate changes', () => {
    const breaker = open(280);
    const lines = { ...breaker.lines, standard: { ...breaker.lines.standard, slots: 28_000 } };
    const end = slotTime(lines.standard, 28_000, 280);
    const back = draining({ ...breaker, lines }, { now: at(40_000), policy });
    const again = reopened(back, 'SERVER_OVERLOAD', { now: at(45_000), policy });
    expect(again.per_second).toBe(20);
    expect(Math.abs(slotTime(again.lines.standard, 28_000, 20) - end)).toBeLessThanOrEqual(2);
  });
});

/** The breaker after `slots` notifications were held. */
const holding = (breaker: ReturnType<typeof open>, slots: number) => ({
  ...breaker,
  lines: { ...breaker.lines, standard: { ...breaker.lines.standard, slots } },
});

describe('slow start', () => {
  const back = draining(holding(open(320), 100_000), { now: T0, policy });

  it.each([
    [100, 1_000],
    [101, 990],
    [200, 500],
    [1_600, 63],
    [100_000, 63],
  ])('of %i that are held lets through at once %i per mille', (held, passed) => {
    expect(passing(draining(holding(open(320), held), { now: T0, policy }), 0)).toBeCloseTo(passed, -1);
  });

  it('counts those that came round since the last probe, not how often they came', () => {
    let breaker = holding(open(320), 6);
    for (let probe = 1; probe <= 30; probe++) {
      breaker = reopened(probing(breaker, 25_000, { now: T0, policy }), 'SERVER_OVERLOAD', { now: T0, policy });
      breaker = holding(breaker, 6 * (probe + 1));
    }
    expect(passing(draining(probing(breaker, 25_000, { now: T0, policy }), { now: T0, policy }), 0)).toBe(1_000);
  });

  it.each([
    [0, 20],
    [5_000, 40],
    [10_000, 80],
    [15_000, 160],
    [20_000, 320],
    [60_000, 320],
  ])('after %i ms lets through about %i of 320 per second', (ms, per_second) => {
    expect(passing(back, ms) / 1_000).toBeCloseTo(per_second / 320, 2);
  });

  it('brings what it keeps back again soon after it has ended, not at the end of the line', () => {
    expect(slowStart(back, { now: T0, policy }, () => 0.99)).toEqual({
      do: 'hold',
      until: iso(20_000 + 0.99 * 120_000),
      soonest: iso(1_000),
      error_type: 'SERVER_OVERLOAD',
      by: { breaker: 'email#ses' },
    });
    // The start counts from the provider's answer, not from the notification.
    expect(slowStart(back, { now: at(15_000), policy }, () => 0.5)?.until).toBe(iso(20_000 + 60_000));
  });

  it('spreads what it keeps back over the more time, the more its slots came too fast', () => {
    const slower = draining({ ...holding(open(320), 100_000), per_second: 80 }, { now: T0, policy });
    expect(slowStart(slower, { now: T0, policy }, () => 0.5)?.until).toBe(iso(10_000 + 4 * 60_000));
  });

  it('keeps back whose draw is exactly the share that passes', () => {
    expect(slowStart(back, { now: T0, policy }, () => 20 / 320)).toMatchObject({ do: 'hold' });
    expect(slowStart(back, { now: T0, policy }, () => 20 / 320 - Number.EPSILON)).toBeUndefined();
  });

  it('gives a provider that fails again half of what it failed at', () => {
    const again = reopened(back, 'SERVER_OVERLOAD', { now: at(15_000), policy });
    expect(again).toMatchObject({ per_second: 80, peak_per_second: 320 });
    expect(again).not.toHaveProperty('draining_since');
    const slower = draining(again, { now: at(200_000), policy });
    expect(passing(slower, 400_000) / 1_000).toBeCloseTo(80 / 320, 2);
  });
});

it('what is asked for by name passes slow start, also when it has waited for the probe that ended the outage', async () => {
  const { breakers, store } = new MemoryBreakers();
  const breaker = holding(open(320), 100_000);
  breakers.set(breaker.id, breaker);
  const [clock, pause] = [() => new Date(Date.parse(breaker.probe_at) + 1), () => new Promise<void>(() => {})];
  const gate = new BreakerGate({ store, policy, probe_ms: 25_000, clock, pause, random: () => 0.999 });
  const admit = (log_id: string, named: boolean) => gate.admit(dueRow({ log_id, channel: 'email' }), named);
  const probe = await admit('probe', false);
  const others = [admit('other', false), admit('by name', true)];
  await new Promise((resolve) => setImmediate(resolve));
  if (probe.do === 'send') await probe.report({ ok: true, response_code: '200' });
  expect((await Promise.all(others)).map((one) => one.do)).toEqual(['hold', 'send']);
});

describe('the gate of a provider that drains', () => {
  const crowded = draining(holding(open(320), 100_000), { now: T0, policy });
  const setUp = (stored: typeof crowded, now: Date) => {
    const { breakers, store } = new MemoryBreakers();
    breakers.set(stored.id, stored);
    const [clock, pause, random] = [() => now, () => new Promise<void>(() => {}), () => 0.9];
    const gate = new BreakerGate({ store, policy, probe_ms: 25_000, clock, pause, random });
    return { breakers, admit: (forced = false) => gate.admit(dueRow({ channel: 'email' }), forced) };
  };
  const admit = (stored: typeof crowded, forced = false, now = T0) => setUp(stored, now).admit(forced);

  it('keeps back what slow start keeps back', async () => {
    expect(await admit(crowded)).toEqual(slowStart(crowded, { now: T0, policy }, () => 0.9));
  });

  it.each([
    ['an operator forces', crowded, true],
    ['comes once the lines are empty', crowded, false, at(HOUR)],
    ['comes after it is closed', { ...crowded, state: 'closed' as const }, false],
  ])('sends what %s', async (_, stored, forced, now?: Date) => {
    expect(await admit(stored, forced, now)).toMatchObject({ do: 'send' });
  });

  it.each([
    ['waits for the probe of its worker', crowded.probe_at],
    ['meets it when it takes a slot', iso(HOUR)],
  ])('keeps back of a batch what %s', async (_, probe_at) => {
    const { draining_since: _from, drained_at: _to, ...down } = { ...crowded, state: 'open' as const, probe_at };
    const { breakers, admit: next } = setUp(down, at(30_000));
    const [first, ...others] = Array.from({ length: 25 }, () => next());
    if (probe_at === iso(HOUR)) breakers.set(down.id, draining(down, { now: at(30_000), policy }));
    const probe = await first;
    if (probe?.do === 'send') await probe.report({ ok: true, response_code: '200' });
    expect((await Promise.all(others)).filter((one) => one.do === 'send')).toEqual([]);
  });
});

describe('a notification whose turn comes after its deadline', () => {
  const attempt = { row: dueRow({ priority: 'info' }), first_attempt_at: iso(), now: T0 };
  const late = iso(4 * HOUR);

  it('gets a last chance right before the deadline', () => {
    const held = { until: late, soonest: iso(30_000), error_type: 'SERVER_OVERLOAD' } as const;
    expect(heldVerdict(held, attempt, DEFAULT_RETRY_POLICY)).toMatchObject({
      status: 'RETRY',
      next_retry_at: iso(3 * HOUR - 60_000),
      counted: false,
    });
  });

  it('is given up once no attempt before the deadline can succeed', () => {
    const held = { until: late, soonest: iso(3 * HOUR + 1), error_type: 'SERVER_OVERLOAD' } as const;
    expect(heldVerdict(held, attempt, DEFAULT_RETRY_POLICY)).toMatchObject({
      status: 'FAILED',
      failure_reason: 'EXPIRED',
    });
  });
});
