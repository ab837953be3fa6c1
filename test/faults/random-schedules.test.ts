import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Refused } from '../../src/core/delivery/sender.ts';
import { IN_FLIGHT_MS } from '../../src/core/intake/accept.ts';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import { PRIORITIES } from '../../src/core/model/priorities.ts';
import type { SweepRequest } from '../../src/core/sweep/sweep-request.ts';
import type { LaneLoad, SweepFaults } from '../support/faults/dispatcher.ts';
import type { Given } from '../support/faults/given.ts';
import { HOSTILE_KINDS } from '../support/faults/hostile-rows.ts';
import { assertInvariants, assertSent, inTime } from '../support/faults/invariants.ts';
import type { FaultPlan } from '../support/faults/worker.ts';
import { World } from '../support/faults/world.ts';

const MINUTE = 60_000;
const RUNS = Number(process.env['FAULT_RUNS'] ?? 1000);
const SEED = process.env['FAULT_SEED'];
const TYPES: ProviderErrorType[] = [
  'NETWORK_TIMEOUT',
  'UNKNOWN',
  'SERVER_OVERLOAD',
  'RATE_LIMITED',
  'AUTH_TEMPORARY',
  'INVALID_RECIPIENT',
  'FORMAT_ERROR',
];

const refusal: fc.Arbitrary<Refused> = fc
  .record({ error_type: fc.constantFrom(...TYPES), wait: fc.option(fc.nat({ max: 40 * MINUTE }), { nil: undefined }) })
  .map(({ error_type, wait }) => ({
    ok: false,
    error_type,
    message: 'refused',
    ...(wait !== undefined && { retry_after_ms: wait }),
  }));

const notifications: fc.Arbitrary<Given[]> = fc
  .array(
    fc.record({
      priority: fc.constantFrom(...PRIORITIES),
      script: fc.array(refusal, { maxLength: 5 }),
      fallback: fc.boolean(),
    }),
    {
      minLength: 1,
      maxLength: 6,
    },
  )
  .map((list) => list.map((given, i) => ({ ...given, log_id: 'n'.repeat(i + 1) })));

const faults: fc.Arbitrary<FaultPlan> = fc
  .record({
    // A batch of one has about a dozen points to die at, a batch of six five times as many.
    crash_at: fc.option(fc.oneof(fc.nat({ max: 12 }), fc.nat({ max: 60 })), { nil: undefined, freq: 3 }),
    throttle: fc.uniqueArray(fc.nat({ max: 30 }), { maxLength: 3 }),
    unanswered: fc.uniqueArray(fc.nat({ max: 30 }), { maxLength: 2 }),
    repeated: fc.uniqueArray(fc.nat({ max: 30 }), { maxLength: 3 }),
    slow: fc.uniqueArray(fc.nat({ max: 30 }), { maxLength: 3 }),
    burst: fc.option(fc.record({ from: fc.nat({ max: 20 }), length: fc.integer({ min: 2, max: 8 }) }), {
      nil: undefined,
      freq: 3,
    }),
  })
  .map(({ crash_at, throttle, unanswered, repeated, slow, burst }) => ({
    ...(crash_at !== undefined && { crash_at }),
    ...(burst && { burst }),
    slow: new Set(slow),
    throttle: new Set(throttle),
    unanswered: new Set(unanswered),
    repeated: new Set(repeated),
  }));

/** A sweep of a whole small world asks for the time a dozen times. */
const sweepFaults: fc.Arbitrary<SweepFaults> = fc.record(
  {
    refused: fc.uniqueArray(fc.nat({ max: 8 }), { minLength: 1, maxLength: 4 }).map((numbers) => new Set(numbers)),
    looks: fc.integer({ min: 5, max: 14 }),
  },
  { requiredKeys: [] },
);

type Step =
  | { do: 'sweep'; plan: FaultPlan & SweepFaults; request: SweepRequest }
  | { do: 'work'; plan: FaultPlan }
  | { do: 'twice'; plan: FaultPlan; other: FaultPlan }
  | { do: 'show_again' | 'reverse' | 'redrive' }
  | { do: 'hand_over'; key: string; plan: FaultPlan }
  | { do: 'outage'; begins: boolean }
  | { do: 'records'; refused: boolean }
  | { do: 'delete'; which: number }
  | { do: 'hostile'; kind: number; seen: boolean }
  | { do: 'lose'; all: boolean }
  | { do: 'advance'; minutes: number };

const request: fc.Arbitrary<SweepRequest> = fc.constantFrom(
  {},
  { force_retry: true },
  { ahead: true },
  { express_minutes: 5 },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ plan: faults, more: sweepFaults, request })
      .map(({ plan, more, request }) => ({ do: 'sweep' as const, plan: { ...plan, ...more }, request })),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('work' as const), plan: faults }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('twice' as const), plan: faults, other: faults }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('show_again' as const, 'reverse' as const, 'redrive' as const) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('hand_over' as const),
      key: fc.constantFrom('key-1', 'key-2'),
      // A request makes three calls.
      plan: fc.record({ crash_at: fc.nat({ max: 8 }), throttle: fc.constant(new Set<number>()) }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('outage' as const), begins: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('records' as const), refused: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), all: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('hostile' as const),
      kind: fc.nat({ max: HOSTILE_KINDS - 1 }),
      seen: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), which: fc.nat({ max: 5 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('advance' as const), minutes: fc.integer({ min: 1, max: 90 }) }),
  },
);

/** Without `size`, none is drawn with more than ten steps, which cost half as much. */
const history = fc.oneof(
  { weight: 2, arbitrary: fc.array(step) },
  { weight: 1, arbitrary: fc.array(step, { maxLength: 25, size: 'max' }) },
);

const load: fc.Arbitrary<LaneLoad> = fc.constantFrom(
  { others: 0, short: false },
  // Under a steady load, lanes hold messages at each sweep.
  { others: 1_000, short: false },
  { others: 0, short: true },
  { others: 7, short: true },
);

async function take(world: World, action: Step): Promise<void> {
  switch (action.do) {
    case 'sweep':
      await world.sweep(action.plan, action.request);
      return;
    case 'work':
      await world.work(action.plan);
      return;
    case 'twice': {
      const messages = world.queue.receive(10);
      await Promise.all([world.work(action.plan, messages), world.work(action.other, messages)]);
      return;
    }
    case 'show_again':
      for (const { id } of world.queue.messages) world.queue.showAgain(id);
      return;
    case 'reverse':
      world.queue.messages.reverse();
      return;
    case 'redrive':
      world.queue.redrive();
      return;
    case 'hand_over':
      await world.handOver(action.key, action.plan);
      return;
    case 'outage':
      world.provider.down = action.begins;
      return;
    case 'records':
      world.recordsRefused = action.refused;
      return;
    case 'lose':
      // Expired, purged, or moved to the DLQ by storage that was down.
      world.queue.messages.splice(0, action.all ? Number.POSITIVE_INFINITY : 1);
      return;
    case 'hostile':
      await world.putHostile(action.kind, action.seen);
      return;
    case 'delete': {
      const { log_id = '' } = world.given[action.which % world.given.length] ?? {};
      const stored = world.tables.log.get(log_id);
      if (stored !== undefined) world.tables.log.set(log_id, { ...stored, is_deleted: true });
      return;
    }
    case 'advance':
      world.advance(action.minutes * MINUTE);
  }
}

describe('any schedule of requests, deaths, throttling, bursts, a RetryLog that refuses, lost answers, lost messages, busy lanes, duplicates, reordering, delays, outages, deletions, force and redrive', () => {
  it(
    'ends with every notification at its end and no invariant broken',
    async () => {
      const ends = new Map<string, number>();
      let deaths = 0;
      let duplicates = 0;
      let failedOver = 0;
      let handedOver = 0;
      let owing = 0;
      let waited = 0;
      let setAside = 0;
      let steps_max = 0;
      const breakers = { opened: 0, drained: 0, held: 0 };
      await fc.assert(
        fc.asyncProperty(
          notifications,
          history,
          load,
          fc.constantFrom(8, 8, 8, 19, 64),
          fc.boolean(),
          async (given, steps, lanes, work, lost) => {
            const world = await World.of(given, { work, history: 4 });
            world.dispatcher.load = lanes;
            await world.sweep();
            for (const action of steps) {
              await take(world, action);
              expect(world.provider.violations).toEqual([]);
            }
            owing += world.rows().filter(({ record_due }) => record_due !== undefined).length;
            world.recordsRefused = false;
            // A producer repeats its request until the answer says that its notification is accepted.
            for (const key of new Set(steps.flatMap((action) => (action.do === 'hand_over' ? action.key : [])))) {
              world.advance(IN_FLIGHT_MS);
              expect(await world.handOver(key)).toBe(true);
              handedOver += 1;
            }
            deaths += world.deaths;
            duplicates += world.excused.size;
            breakers.opened += world.channel.breakers.breakers.size;
            if (lost) world.queue.messages.splice(0);
            const mustBeSent = inTime(world);
            await world.settleDown();
            assertInvariants(world);
            assertSent(world, mustBeSent);
            waited += mustBeSent.length;
            steps_max = Math.max(steps_max, steps.length);
            setAside += world.hostileRows().length;
            breakers.held += world.reports.filter(({ held_by }) => held_by !== undefined).length;
            breakers.drained += [...world.channel.breakers.breakers.values()].filter(
              ({ state }) => state !== 'open',
            ).length;
            failedOver += world.rows().filter((row) => row.successor_log_id !== undefined).length;
            for (const { send_status, failure_reason } of world.rows()) {
              const end = failure_reason ?? send_status;
              ends.set(end, (ends.get(end) ?? 0) + 1);
            }
          },
        ),
        { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) },
      );
      // The property says something only if the schedules reach the interesting ends.
      for (const end of ['SUCCESS', 'INVALID_RECIPIENT', 'FORMAT_ERROR', 'EXPIRED', 'MAX_RETRIES', 'CANCELLED'])
        expect(ends.get(end) ?? 0, end).toBeGreaterThan(0);
      expect(deaths).toBeGreaterThan(RUNS / 5);
      expect(duplicates).toBeGreaterThan(0);
      expect(failedOver).toBeGreaterThan(RUNS / 10);
      expect(handedOver).toBeGreaterThan(RUNS / 10);
      expect(steps_max).toBeGreaterThan(20);
      expect(waited, 'rows that must not expire').toBeGreaterThan(RUNS / 10);
      expect(setAside, 'hostile rows').toBeGreaterThan(RUNS / 4);
      expect(owing, 'rows that keep their record').toBeGreaterThan(RUNS / 200);
      for (const [what, count] of Object.entries(breakers)) expect(count, what).toBeGreaterThan(RUNS / 300);
    },
    Math.max(120_000, RUNS * 120),
  );
});
