import { describe, expect, it } from 'vitest';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import { assertInvariants } from '../support/faults/invariants.ts';
import type { Script } from '../support/faults/provider.ts';
import type { FaultPlan } from '../support/faults/worker.ts';
import { World } from '../support/faults/world.ts';

const MINUTE = 60_000;
const refuse = (error_type: ProviderErrorType, times = 1): Script =>
  Array.from({ length: times }, () => ({ ok: false, error_type, message: `refused: ${error_type}` }));

const scenarios: [string, Script][] = [
  ['delivered at once', []],
  ['delivered at the second retry', refuse('NETWORK_TIMEOUT')],
  ['refused permanently', refuse('INVALID_RECIPIENT', 9)],
  ['refused and dead-lettered', refuse('AUTH_FAILED', 9)],
  ['exhausted', refuse('SERVER_OVERLOAD', 20)],
];

/** A day of one notification; `plan` holds for the worker invocation `victim`. */
async function live(script: Script, victim: number, plan: FaultPlan, fallback: boolean) {
  const world = await World.of([{ log_id: 'log-1', priority: 'info', script, fallback }]);
  let calls = 0;
  let invocation = 0;
  for (let round = 0; round < 40; round++) {
    if (round % 4 === 0) await world.sweep();
    // The second delivery of a message takes the path that reads the row first.
    for (let messages = world.queue.receive(10); messages.length > 0; messages = world.queue.receive(10)) {
      const again = messages.map((message) => ({ ...message, receive_count: message.receive_count + (round % 2) }));
      const worker = await world.work(invocation === victim ? plan : {}, again);
      if (invocation++ === victim) calls = worker.calls;
    }
    world.advance(15 * MINUTE);
  }
  return { world, calls };
}

/** What the world ended with, without the tokens and times of single writes. */
function ending({ world }: Awaited<ReturnType<typeof live>>) {
  return {
    rows: world.rows().map(({ updated_at: _, ...row }) => row),
    records: world.rows().map(({ log_id }) => world.records(log_id)),
    dead_letters: world.queue.dead_letters.length,
  };
}

describe('a storage call that was applied and whose answer was lost', () => {
  it.each(scenarios)('changes nothing when the client repeats it: %s', async (_, script) => {
    for (const fallback of [false, true]) {
      const expected = ending(await live(script, -1, {}, fallback));
      for (let victim = 0; victim < 4; victim++) {
        const { calls } = await live(script, victim, {}, fallback);
        for (let call = 0; call < calls; call++) {
          const lived = await live(script, victim, { repeated: new Set([call]) }, fallback);
          expect(ending(lived), `call ${call} of invocation ${victim}`).toEqual(expected);
          assertInvariants(lived.world);
        }
      }
    }
  });

  it.each(scenarios)('loses and repeats nothing when the worker gets an error: %s', async (_, script) => {
    for (let victim = 0; victim < 4; victim++) {
      const { calls } = await live(script, victim, {}, true);
      for (let call = 0; call < calls; call++) {
        const { world } = await live(script, victim, { unanswered: new Set([call]) }, true);
        await world.settleDown();
        assertInvariants(world);
      }
    }
  });
});

describe('a claim that was applied and answered with an error', () => {
  it.each([0, 1])('uses up no attempt: receive %i of its message', async (again) => {
    const world = await World.of([{ log_id: 'log-1', priority: 'info', script: refuse('NETWORK_TIMEOUT') }]);
    await world.sweep();
    const messages = world.queue.receive(10).map((message) => ({ ...message, receive_count: 1 + again }));
    // A message that comes again reads the row first.
    await world.work({ unanswered: new Set([again]) }, messages);
    await world.settleDown();
    assertInvariants(world);
    expect(world.tables.row('log-1')).toMatchObject({ send_status: 'SUCCESS', send_attempts: 3, last_attempt: 2 });
    expect(world.records('log-1').map(({ error_type }) => error_type)).toEqual(['NETWORK_TIMEOUT', undefined]);
  });
});

describe('a forced attempt on a dead notification whose worker died', () => {
  /** The fault meets the worker that takes over. @returns its calls, and the sends after the death */
  async function takenOver(plan: FaultPlan) {
    const world = await World.of([{ log_id: 'log-1', priority: 'urgent', script: refuse('AUTH_FAILED') }]);
    await world.sweep();
    for (let minute = 0; minute < 6; minute++) {
      await world.drain();
      world.advance(MINUTE);
    }
    await world.sweep({}, { force_retry: true });
    const forced = await world.work({ crash_at: 4 });
    expect([forced.dead, world.tables.row('log-1')?.send_status]).toEqual([true, 'SENDING']);
    const before = world.provider.sends.get('log-1');
    world.queue.messages.splice(0);
    world.advance(7 * MINUTE);
    await world.sweep();
    const worker = await world.work(plan);
    await world.settleDown();
    return { world, calls: worker.calls, sends: (world.provider.sends.get('log-1') ?? 0) - (before ?? 0) };
  }

  it.each([
    ['is repeated', (call: number): FaultPlan => ({ repeated: new Set([call]) })],
    ['is applied and answered with an error', (call: number): FaultPlan => ({ unanswered: new Set([call]) })],
    ['is refused', (call: number): FaultPlan => ({ throttle: new Set([call]) })],
    ['is followed by another death', (call: number): FaultPlan => ({ crash_at: 2 * call + 1 })],
  ])('is the only one, whichever call of its takeover %s', async (_, fault) => {
    const { calls } = await takenOver({});
    expect(calls).toBeGreaterThan(3);
    for (let call = 0; call < calls; call++) {
      const { world, sends } = await takenOver(fault(call));
      const { send_status, failure_reason } = world.tables.row('log-1') ?? {};
      expect([sends, send_status, failure_reason], `call ${call}`).toEqual([0, 'FAILED', 'AUTH_FAILED']);
      assertInvariants(world);
    }
  });
});
