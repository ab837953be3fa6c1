import { describe, expect, it } from 'vitest';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import type { Given } from '../support/faults/given.ts';
import { assertInvariants } from '../support/faults/invariants.ts';
import type { Script } from '../support/faults/provider.ts';
import { World } from '../support/faults/world.ts';

const MINUTE = 60_000;
const refuse = (error_type: ProviderErrorType, times: number): Script =>
  Array.from({ length: times }, () => ({ ok: false, error_type, message: `refused: ${error_type}` }));
const GIVEN: Given[] = [
  { log_id: 'accepted', priority: 'info', script: [] },
  { log_id: 'accepted-later', priority: 'normal', script: refuse('NETWORK_TIMEOUT', 1) },
  { log_id: 'refused', priority: 'urgent', script: refuse('AUTH_FAILED', 9) },
];

/** Ten minutes of sweeps and work, in steps of a minute. */
async function tenMinutes(world: World): Promise<void> {
  for (let minute = 0; minute < 10; minute++) {
    if (minute % 5 === 0) await world.sweep();
    await world.drain();
    world.advance(MINUTE);
  }
}

describe('a RetryLog that refuses for minutes', () => {
  it('leads to no second send, and every settled attempt gets its record', async () => {
    const world = await World.of(GIVEN);
    world.recordsRefused = true;
    await tenMinutes(world);
    expect(world.tables.row('accepted')).toMatchObject({ send_status: 'SUCCESS', record_due: expect.any(String) });
    expect(world.inIndex('due', 'accepted')).toBe(true);
    expect(world.provider.sends.get('accepted')).toBe(1);
    world.recordsRefused = false;
    await tenMinutes(world);
    expect(world.tables.row('accepted')).not.toHaveProperty('record_due');
    expect(world.records('accepted')).toMatchObject([{ retry_attempt: 1, retry_status: 'SUCCESS', run_id: 'sweep-1' }]);
    await world.settleDown();
    assertInvariants(world);
    expect(world.provider.accepted.get('accepted')).toBe(1);
    expect(world.provider.accepted.get('accepted-later')).toBe(1);
  });

  it('and a worker that dies anywhere in the repair lose no record', async () => {
    let deaths = 0;
    for (let crash_at = 0; ; crash_at++) {
      const world = await World.of([{ log_id: 'accepted', priority: 'info', script: [] }]);
      world.recordsRefused = true;
      await world.sweep();
      await world.drain();
      world.recordsRefused = false;
      world.advance(MINUTE);
      await world.sweep();
      const { dead } = await world.work({ crash_at });
      await world.settleDown();
      assertInvariants(world);
      expect(world.provider.sends.get('accepted'), `death ${crash_at}`).toBe(1);
      if (!dead) break;
      deaths += 1;
    }
    expect(deaths).toBe(6);
  });
});

describe('a burst in which storage refuses calls in a row', () => {
  it('leads to no second send of what was accepted, wherever it begins', async () => {
    for (let from = 0; from < 12; from++) {
      const world = await World.of([{ log_id: 'accepted', priority: 'info', script: [] }]);
      await world.sweep();
      await world.work({ burst: { from, length: 8 } });
      await world.settleDown();
      assertInvariants(world);
      expect(world.provider.accepted.get('accepted'), `from call ${from}`).toBe(1);
    }
  });
});
