import { describe, expect, it } from 'vitest';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import { assertInvariants } from '../support/faults/invariants.ts';
import type { Script } from '../support/faults/provider.ts';
import { World } from '../support/faults/world.ts';

const MINUTE = 60_000;
const refuse = (error_type: ProviderErrorType, times = 1): Script =>
  Array.from({ length: times }, () => ({ ok: false, error_type, message: `refused: ${error_type}` }));

const scenarios: [string, Script][] = [
  ['delivered at once', []],
  ['delivered at the second retry', refuse('NETWORK_TIMEOUT')],
  ['rate limited, then delivered', refuse('RATE_LIMITED')],
  ['refused permanently', refuse('INVALID_RECIPIENT', 9)],
  ['refused and dead-lettered', refuse('AUTH_FAILED', 9)],
  ['exhausted', refuse('SERVER_OVERLOAD', 20)],
];

/** A day of one notification, with a death in the worker invocation `victim`. */
async function live(
  script: Script,
  victim: number,
  crash_at: number,
  fallback = false,
): Promise<{ world: World; calls: number }> {
  const world = await World.of([{ log_id: 'log-1', priority: 'info', script, fallback }]);
  let calls = 0;
  let invocation = 0;
  for (let round = 0; round < 40; round++) {
    if (round % 4 === 0) await world.sweep();
    for (let messages = world.queue.receive(10); messages.length > 0; messages = world.queue.receive(10)) {
      const worker = await world.work(invocation === victim ? { crash_at } : {}, messages);
      if (invocation++ === victim) calls = worker.calls;
    }
    world.advance(15 * MINUTE);
  }
  return { world, calls };
}

describe('a worker that dies before or after any external call', () => {
  it.each(scenarios)('loses nothing of a notification that is %s', async (_, script) => {
    const baseline = await live(script, 0, -1);
    assertInvariants(baseline.world);
    const end = baseline.world.rows()[0]?.send_status;
    let deaths = 0;
    for (let victim = 0; victim < 6; victim++) {
      const { calls } = await live(script, victim, -1);
      for (let crash_at = 0; crash_at < 2 * calls; crash_at++) {
        const { world } = await live(script, victim, crash_at);
        assertInvariants(world);
        expect(world.rows()[0]?.send_status, `death ${crash_at} in invocation ${victim}`).toBe(end);
        deaths += 1;
      }
    }
    expect(deaths).toBeGreaterThan(5);
  });

  it.each([
    ['its recipient is wrong', refuse('INVALID_RECIPIENT', 9)],
    ['it is exhausted', refuse('SERVER_OVERLOAD', 20)],
  ])('continues a given-up notification on its fallback channel, once, when %s', async (_, script) => {
    let deaths = 0;
    for (let victim = 0; victim < 6; victim++) {
      const { calls } = await live(script, victim, -1, true);
      for (let crash_at = 0; crash_at < 2 * calls; crash_at++) {
        const { world } = await live(script, victim, crash_at, true);
        assertInvariants(world);
        const [row, successor, ...more] = world.rows();
        expect(row, `death ${crash_at} in invocation ${victim}`).toMatchObject({
          send_status: 'FAILED',
          successor_log_id: 'log-1-fallback',
        });
        expect(successor).toMatchObject({ send_status: 'SUCCESS', channel: 'email', predecessor_log_id: 'log-1' });
        expect(more).toEqual([]);
        deaths += 1;
      }
    }
    expect(deaths).toBeGreaterThan(20);
  });

  it('leaves a dead letter that an operator can redrive', async () => {
    const script = refuse('AUTH_FAILED', 9);
    for (let crash_at = -1; crash_at < 14; crash_at++) {
      const { world } = await live(script, 0, crash_at);
      expect(world.rows()[0]).toMatchObject({ send_status: 'FAILED', failure_reason: 'AUTH_FAILED' });
      world.provider.healed = true;
      expect(world.queue.redrive()).toBe(1);
      await world.settleDown();
      expect(world.rows()[0], `death ${crash_at}`).toMatchObject({ send_status: 'SUCCESS', redrive_count: 1 });
      assertInvariants(world);
    }
  });

  it('loses nothing in the middle of a redriven attempt', async () => {
    for (let crash_at = 0; crash_at < 14; crash_at++) {
      const { world } = await live(refuse('AUTH_FAILED', 9), -1, -1);
      world.provider.healed = true;
      world.queue.redrive();
      await world.work({ crash_at });
      await world.settleDown();
      expect(world.rows()[0], `death ${crash_at}`).toMatchObject({ send_status: 'SUCCESS' });
      assertInvariants(world);
    }
  });
});

describe('a near retry whose worker dies before or after any external call', () => {
  it('has its message all the same, and waits for no sweep', async () => {
    let deaths = 0;
    for (let crash_at = 0; ; crash_at++) {
      const world = await World.of([{ log_id: 'log-1', priority: 'urgent', script: refuse('RATE_LIMITED') }]);
      await world.sweep();
      const { dead } = await world.work({ crash_at });
      for (let minute = 0; minute < 30; minute++) {
        world.advance(MINUTE);
        await world.drain();
      }
      assertInvariants(world);
      expect(world.rows(), `death ${crash_at}`).toMatchObject([{ send_status: 'SUCCESS' }]);
      if (!dead) break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(10);
  });

  it('and that SQS refuses is left to the look ahead, which finds no message noted for it', async () => {
    const world = await World.of([{ log_id: 'log-1', priority: 'urgent', script: refuse('RATE_LIMITED') }]);
    await world.sweep();
    world.channel.queueRefused = true;
    await world.work();
    world.channel.queueRefused = false;
    expect(world.queue.messages).toEqual([]);
    await world.sweep({}, { ahead: true });
    expect(world.queue.messages).toHaveLength(1);
  });
});

describe('a sweep that dies before or after any external call', () => {
  it('loses nothing, and the next sweep brings every notification to its end', async () => {
    const given = ['a', 'bb', 'ccc'].map((log_id) => ({
      log_id,
      priority: 'urgent' as const,
      script: refuse('UNKNOWN'),
    }));
    const { calls } = await (await World.of(given)).sweep();
    expect(calls).toBeGreaterThan(10);
    for (let crash_at = 0; crash_at < 2 * calls; crash_at++) {
      const world = await World.of(given);
      await world.sweep({ crash_at });
      await world.settleDown();
      assertInvariants(world);
      expect(world.rows().every(({ send_status }) => send_status === 'SUCCESS')).toBe(true);
    }
  });
});

describe('a message that kills every worker', () => {
  it('is attempted no more often than its limit allows, and ends as a dead letter', async () => {
    const world = await World.of([{ log_id: 'log-1', priority: 'info', script: refuse('UNKNOWN', 99) }]);
    await world.settleDown({ poison: new Set(['log-1']) });
    assertInvariants(world);
    expect(world.rows()[0]).toMatchObject({ send_status: 'FAILED', failure_reason: 'MAX_RETRIES', send_attempts: 4 });
    expect(world.provider.sends.get('log-1')).toBe(3);
  });

  it('does not stop the other messages of its batch', async () => {
    const given = [
      { log_id: 'poison', priority: 'info' as const, script: refuse('UNKNOWN', 99) },
      ...['a', 'b', 'c'].map((log_id) => ({ log_id, priority: 'info' as const, script: [] })),
    ];
    const world = await World.of(given);
    await world.settleDown({ poison: new Set(['poison']) });
    assertInvariants(world);
    for (const log_id of ['a', 'b', 'c']) expect(world.tables.row(log_id)).toMatchObject({ send_status: 'SUCCESS' });
  });
});

describe('a request that dies before or after any external call, and is made again', () => {
  const SECONDS = 6_000;

  it('has its notification sent once, without waiting for a sweep', async () => {
    let deaths = 0;
    for (let crash_at = 0; ; crash_at++) {
      const world = await World.of([]);
      const answered = await world.handOver('log-1', { crash_at });
      world.advance(SECONDS);
      expect(await world.handOver('log-1'), `death ${crash_at}`).toBe(true);
      await world.drain();
      assertInvariants(world);
      expect(world.rows()).toMatchObject([{ send_status: 'SUCCESS', send_attempts: 1 }]);
      expect(world.provider.accepted.get('log-1')).toBe(1);
      if (answered) break;
      deaths += 1;
    }
    expect(deaths).toBe(6);
  });

  it('is sent once even if its message is queued twice, and a death by one message is no redrive for the other', async () => {
    const world = await World.of([{ log_id: 'log-1', priority: 'normal', script: refuse('AUTH_FAILED', 9) }]);
    world.tables.log.delete('log-1');
    for (let again = 0; again < 3; again++) {
      await world.handOver('log-1');
      world.advance(SECONDS);
    }
    expect(world.queue.messages).toHaveLength(3);
    await world.settleDown();
    assertInvariants(world);
    expect(world.rows()).toMatchObject([{ failure_reason: 'AUTH_FAILED', send_attempts: 1 }]);
    expect(world.provider.sends.get('log-1')).toBe(1);
  });
});
