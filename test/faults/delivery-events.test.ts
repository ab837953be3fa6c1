import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeliveryEvent, Feedback } from '../../src/core/delivery-events/delivery-event.ts';
import { arrived } from '../../src/core/model/delivery-by-attempt.ts';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import { PRIORITIES } from '../../src/core/model/priorities.ts';
import { AUTO_REPLY, eventOf, PERMANENT, TRANSIENT, UNPROVEN, VIRUS } from '../support/delivery-events.ts';
import type { Given } from '../support/faults/given.ts';
import type { FaultPlan } from '../support/faults/worker.ts';
import { World } from '../support/faults/world.ts';

const MINUTE = 60_000;
const RUNS = Number(process.env['FAULT_RUNS'] ?? 500);
const SEED = process.env['FAULT_SEED'];
const FEEDBACK: Feedback[] = [
  { kind: 'delivered' },
  { kind: 'opened' },
  { kind: 'complained' },
  PERMANENT,
  TRANSIENT,
  UNPROVEN,
  AUTO_REPLY,
  VIRUS,
];

const script = fc.array(
  fc
    .constantFrom<ProviderErrorType>('NETWORK_TIMEOUT', 'UNKNOWN', 'SERVER_OVERLOAD', 'AUTH_FAILED')
    .map((error_type) => ({ ok: false as const, error_type, message: 'uncertain' })),
  { maxLength: 4 },
);
const notifications: fc.Arbitrary<Given[]> = fc
  .array(fc.record({ priority: fc.constantFrom(...PRIORITIES), script }), { minLength: 1, maxLength: 3 })
  .map((list) => list.map((given, i) => ({ ...given, log_id: 'n'.repeat(i + 1) })));
const faults: fc.Arbitrary<FaultPlan> = fc
  .record({
    crash_at: fc.option(fc.nat({ max: 14 }), { nil: undefined, freq: 3 }),
    slow: fc.uniqueArray(fc.nat({ max: 12 }), { maxLength: 3 }),
    throttle: fc.uniqueArray(fc.nat({ max: 12 }), { maxLength: 2 }),
    unanswered: fc.uniqueArray(fc.nat({ max: 12 }), { maxLength: 2 }),
    repeated: fc.uniqueArray(fc.nat({ max: 12 }), { maxLength: 3 }),
  })
  .map(({ crash_at, slow, throttle, unanswered, repeated }) => ({
    ...(crash_at !== undefined && { crash_at }),
    slow: new Set(slow),
    throttle: new Set(throttle),
    unanswered: new Set(unanswered),
    repeated: new Set(repeated),
  }));

type Step =
  | { do: 'sweep' | 'force' | 'redrive' }
  | { do: 'work'; plan: FaultPlan }
  | { do: 'records'; refused: boolean }
  | {
      do: 'tell';
      which: number;
      attempt: number;
      feedback: Feedback;
      plan: FaultPlan;
      times: number;
      /** A worker works at the same time. */
      beside?: FaultPlan;
    }
  | { do: 'advance'; minutes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('sweep' as const, 'force' as const, 'redrive' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('work' as const), plan: faults }) },
  {
    weight: 6,
    arbitrary: fc.record(
      {
        do: fc.constant('tell' as const),
        which: fc.nat({ max: 2 }),
        attempt: fc.nat({ max: 3 }),
        feedback: fc.constantFrom(...FEEDBACK),
        plan: faults,
        times: fc.integer({ min: 1, max: 2 }),
        beside: faults,
      },
      { requiredKeys: ['do', 'which', 'attempt', 'feedback', 'plan', 'times'] },
    ),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('records' as const), refused: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance' as const), minutes: fc.integer({ min: 1, max: 90 }) }),
  },
);

/** Without `size`, none is drawn with more than ten steps, which cost half as much. */
const history = fc.oneof(
  { weight: 2, arbitrary: fc.array(step) },
  { weight: 1, arbitrary: fc.array(step, { maxLength: 30, size: 'max' }) },
);

/** A world whose provider sends events about the attempts that were made, with a check that nothing is sent twice. */
class Correspondence {
  readonly world: World;
  /** Events that came back. */
  #open: DeliveryEvent[] = [];
  readonly #sendsWhenArrived = new Map<string, number>();

  constructor(world: World) {
    this.world = world;
  }

  async take(action: Step): Promise<void> {
    const { world } = this;
    if (action.do === 'sweep') await world.sweep();
    if (action.do === 'force') await world.sweep({}, { force_retry: true });
    if (action.do === 'redrive') world.queue.redrive();
    if (action.do === 'work') await world.work(action.plan);
    if (action.do === 'advance') world.advance(action.minutes * MINUTE);
    if (action.do === 'records') world.recordsRefused = action.refused;
    if (action.do === 'tell') {
      await Promise.all([this.#tell(action), ...(action.beside ? [world.work(action.beside)] : [])]);
    }
    this.check();
  }

  /** Works until no event is left to come back and no notification is due. */
  async settle(): Promise<void> {
    for (let round = 0; round < 6; round++) {
      await this.world.settleDown();
      await this.#again();
      this.check();
    }
    expect(this.#open).toEqual([]);
  }

  /** A recipient that has a notification gets it no second time. */
  check(): void {
    expect(this.world.provider.violations.filter((violation) => violation.includes('had arrived'))).toEqual([]);
    for (const { log_id, delivery_by_attempt } of this.world.rows()) {
      const sends = this.world.provider.sends.get(log_id) ?? 0;
      const before = this.#sendsWhenArrived.get(log_id);
      if (!arrived(delivery_by_attempt)) this.#sendsWhenArrived.delete(log_id);
      else if (before === undefined) this.#sendsWhenArrived.set(log_id, sends);
      else expect(sends, `${log_id} was sent again after it had arrived`).toBe(before);
    }
  }

  async #tell({ which, attempt, feedback, plan, times }: Extract<Step, { do: 'tell' }>): Promise<void> {
    const { given } = this.world;
    const { log_id = '' } = given[which % given.length] ?? {};
    const made = this.world.records(log_id).filter(({ retry_status }) => retry_status !== 'SKIPPED');
    const record = made[attempt % made.length];
    if (record === undefined) return;
    const event = eventOf(feedback, {
      log_id,
      attempt: record.retry_attempt,
      at: this.world.clock().toISOString(),
      provider_message_id: record.provider_message_id ?? `message-${record.retry_attempt}`,
    });
    for (let i = 0; i < times; i++) if (!(await this.world.tell(event, plan))) this.#open.push(event);
    await this.#again();
  }

  async #again(): Promise<void> {
    const open = this.#open;
    this.#open = [];
    for (const event of open) if (!(await this.world.tell(event))) this.#open.push(event);
  }
}

describe('a notification that is about to be given up', () => {
  it('is SUCCESS when its worker dies meanwhile, and an event shows that the notification arrived', async () => {
    const world = await World.of([{ log_id: 'n', priority: 'urgent', script: [] }]);
    await world.sweep();
    await world.work();
    const event = { log_id: 'n', attempt: 1, at: world.clock().toISOString() };
    expect(await world.tell(eventOf(VIRUS, event))).toBe(true);
    world.advance(1000);
    // After the record, before the settlement.
    expect((await world.work({ crash_at: 3 })).dead).toBe(true);
    expect(world.records('n')).toMatchObject([{ retry_status: 'FAILED' }, { failure_reason: 'FORMAT_ERROR' }]);
    expect(world.rows()).toMatchObject([{ send_status: 'SENDING' }]);
    world.advance(2 * MINUTE);
    expect(await world.tell(eventOf({ kind: 'opened' }, event))).toBe(true);
    await world.settleDown();
    expect(world.rows()).toMatchObject([{ send_status: 'SUCCESS', last_attempt: 2 }]);
    expect(world.provider.sends.get('n')).toBe(1);
  });
});

describe('an event that comes between the read of a row and its claim', () => {
  /** The first attempt timed out; the second one's worker died with `crash_at`, or there was none. */
  async function uncertain(crash_at?: number): Promise<World> {
    const timeout = { ok: false, error_type: 'NETWORK_TIMEOUT', message: 'no answer' } as const;
    const world = await World.of([{ log_id: 'n', priority: 'urgent', script: [timeout, timeout] }]);
    await world.sweep();
    await world.work();
    world.advance(15 * MINUTE);
    if (crash_at === undefined) return world;
    expect((await world.work({ crash_at })).dead).toBe(true);
    world.advance(7 * MINUTE);
    return world;
  }

  it.each([
    // Before the send, after it, and after the record.
    ['its worker died before it sent', 3],
    ['its worker died before it recorded', 6],
    ['its worker died before it settled', 7],
    ['its message comes for the second time', undefined],
  ])('stops the send: %s', async (_, crash_at) => {
    for (let call = 0; ; call++) {
      const world = await uncertain(crash_at);
      const tell = () =>
        world.tell(eventOf({ kind: 'delivered' }, { log_id: 'n', attempt: 1, at: world.clock().toISOString() }));
      const again = world.queue.receive(10).map((message) => ({ ...message, receive_count: 2 }));
      const { calls } = await world.work({ before: { call, others: tell } }, again);
      world.advance(2 * MINUTE);
      expect(await tell()).toBe(true);
      await world.settleDown();
      expect(world.provider.violations, `before call ${call}`).toEqual([]);
      expect(world.rows(), `before call ${call}`).toMatchObject([{ send_status: 'SUCCESS' }]);
      expect(world.records('n')[0]).toMatchObject({ retry_attempt: 1, retry_status: 'SUCCESS' });
      if (call >= calls) break;
    }
  });

  it('leaves its record as it is when it is about the attempt whose worker died', async () => {
    for (let call = 0; ; call++) {
      const world = await uncertain(6);
      const tell = () =>
        world.tell(eventOf({ kind: 'delivered' }, { log_id: 'n', attempt: 2, at: world.clock().toISOString() }));
      let told = false;
      const others = async () => {
        told = await tell();
      };
      const { calls } = await world.work({ before: { call, others } });
      world.advance(2 * MINUTE);
      if (!told) expect(await tell()).toBe(true);
      await world.settleDown();
      expect(world.provider.violations, `before call ${call}`).toEqual([]);
      expect(world.records('n')[1], `before call ${call}`).toMatchObject({ retry_attempt: 2, retry_status: 'SUCCESS' });
      if (call >= calls) break;
    }
  });
});

describe('delivery events in any order, repeated and late, among attempts, redrives and deaths', () => {
  it(
    'never send a notification again that arrived, never lose one that did not, and leave true records',
    async () => {
      const ends = new Map<string, number>();
      let longest = 0;
      await fc.assert(
        fc.asyncProperty(notifications, history, async (given, steps) => {
          const correspondence = new Correspondence(await World.of(given));
          const { world } = correspondence;
          longest = Math.max(longest, steps.length);
          await world.sweep();
          await world.work();
          for (const action of steps) await correspondence.take(action);
          await correspondence.settle();
          for (const row of world.rows()) {
            const { log_id, delivery_by_attempt = {}, send_status, failure_reason } = row;
            const end = arrived(delivery_by_attempt) ? 'arrived' : (failure_reason ?? send_status);
            ends.set(end, (ends.get(end) ?? 0) + 1);
            expect(send_status === 'SUCCESS' || failure_reason !== undefined, `${log_id}: ${send_status}`).toBe(true);
            expect(world.inIndex('due', log_id)).toBe(false);
            expect(row).not.toHaveProperty('give_up');
            if (arrived(delivery_by_attempt)) expect(row).toMatchObject({ send_status: 'SUCCESS' });
            expect(row.delivered_at !== undefined).toBe(arrived(delivery_by_attempt));
            const records = world.records(log_id);
            expect(records.map(({ retry_attempt }) => retry_attempt).sort((a, b) => a - b)).toEqual(
              Array.from({ length: row.last_attempt }, (_, i) => i + 1),
            );
            for (const { retry_attempt, retry_status } of records) {
              const evidence = delivery_by_attempt[retry_attempt];
              if (evidence !== undefined)
                expect(retry_status).toBe(evidence.endsWith('bounced') ? 'FAILED' : 'SUCCESS');
            }
          }
        }),
        { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) },
      );
      expect(longest).toBeGreaterThan(20);
      for (const end of ['arrived', 'SUCCESS', 'INVALID_RECIPIENT', 'FORMAT_ERROR', 'MAX_RETRIES'])
        expect(ends.get(end) ?? 0, end).toBeGreaterThan(0);
    },
    Math.max(120_000, RUNS * 120),
  );
});
