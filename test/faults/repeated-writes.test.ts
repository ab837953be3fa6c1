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
