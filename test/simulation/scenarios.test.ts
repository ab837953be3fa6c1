import { describe, expect, it } from 'vitest';
import { CATALOGUE, scenarioOf } from '../../tools/simulation/catalogue.ts';
import { VirtualTime } from '../../tools/simulation/engine/virtual-time.ts';
import { SimulatedQueue } from '../../tools/simulation/models/queue.ts';
import { idealExpired } from '../../tools/simulation/report/drain.ts';
import { runScenario } from '../../tools/simulation/run-scenario.ts';
import { HOUR } from '../../tools/simulation/scenarios/scenario.ts';
import { T0 } from '../support/rows.ts';

/** Notifications of each scenario here; `npm run simulate` takes up to ten million. */
const SMALL = 300;

function small(name: string, notifications = SMALL) {
  const scenario = CATALOGUE.get(name);
  if (scenario === undefined || !('make' in scenario)) throw new Error(`There is no scenario ${name}.`);
  return scenarioOf(scenario, notifications);
}

describe('a simulated scenario', () => {
  it.each([
    ...['steady', 'outage', 'noisy-tenant', 'slack-limit', 'redrive-storm', 'redrive-storm-email'],
    ...['regional-blackout', 'large-platform', 'late-schedules'],
  ])(
    '%s keeps every invariant, and its budgets, at a small size',
    async (name) => {
      // What waits out an outage is attempted for hours.
      const notifications = name === 'outage' ? 100 : SMALL;
      const figures = await runScenario(small(name, notifications), 1);
      expect(figures).toMatchObject({ violations: 0, examples: [], open: 0, notifications });
      // Shares of a rate of some notifications per hour say nothing; the waits do. So few e-mails share no reservations.
      const most = name === 'redrive-storm-email' ? 0.8 : 0;
      const { budgets } = figures;
      const missed = budgets.filter(
        ({ met, what, value }) => !met && !/^share/.test(what) && !(/^write/.test(what) && value <= most),
      );
      expect(missed).toEqual([]);
    },
    60_000,
  );

  it('attempts each dead e-mail that is redriven at a low rate, also those that die again', async () => {
    const again = { ...small('redrive-storm-email'), redrives: [1.5 * HOUR, 2.5 * HOUR] };
    const { waits, requests, ...figures } = await runScenario(again, 1);
    // Each counts once, by its last end: a redriven one is no death any more.
    expect(figures).toMatchObject({ violations: 0, examples: [], open: 0, ends: { DELIVERED: SMALL, AUTH_FAILED: 0 } });
    expect(requests).toBeGreaterThanOrEqual(3 * SMALL);
    expect(waits.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(SMALL);
  }, 60_000);

  it('takes rows of others by the settings that are recommended, nearly as fast as these promise', async () => {
    const { drain, ...figures } = await runScenario(small('peak-hour', 3_000), 1);
    expect(figures).toMatchObject({ violations: 0, open: 0 });
    // One batch at a time in place of thirty.
    expect(drain?.share_of_rate).toBeGreaterThan(0.85);
  }, 60_000);

  it('gives the same result for the same seed, and another one for another seed', async () => {
    const [first, again, other] = [
      await runScenario(small('steady', 300), 7),
      await runScenario(small('steady', 300), 7),
      await runScenario(small('steady', 300), 8),
    ];
    expect(again).toEqual(first);
    expect(other.waits).not.toEqual(first.waits);
  });
});

it('a full batch takes a request of SQS per ten messages', () => {
  const queue = new SimulatedQueue(new VirtualTime(T0), {
    visibility_ms: 1,
    max_receives: 5,
    groupOf: () => 'tenant-1',
  });
  const requests = (run: () => unknown) => {
    const before = queue.requests;
    run();
    return queue.requests - before;
  };
  expect(requests(() => Array.from({ length: 25 }, (_, i) => queue.send(i, 0)))).toBe(3);
  expect(requests(() => expect(queue.receive(25)).toHaveLength(25))).toBe(3);
  expect(requests(() => expect(queue.receive(25)).toEqual([]))).toBe(1);
});

const waiting = (priority: string, count: number, since = 0) =>
  Array.from({ length: count }, () => ({ priority, since }));

it('an ideal drain lets expire what even a drain without a pause reaches too late: the least important, after 3 hours', () => {
  // Of the 7,200 seconds until info expires, urgent takes 4,000; one in 7,201 fits at its first moment.
  const held = [...waiting('info', 5_000), ...waiting('urgent', 4_000)];
  expect(idealExpired(held, HOUR * 1_000, 1)).toBe(5_000 - 3_201);
  expect(idealExpired(held, HOUR * 1_000, 2)).toBe(0);
});

it('an ideal drain counts what had expired before, and takes no slot for it', () => {
  expect(idealExpired([...waiting('info', 3), ...waiting('info', 2, 2_000 * HOUR)], 4 * HOUR * 1_000, 1)).toBe(3);
});
