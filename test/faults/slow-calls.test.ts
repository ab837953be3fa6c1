import { describe, expect, it } from 'vitest';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { isQueued } from '../../src/core/model/queue-message.ts';
import { assertInvariants } from '../support/faults/invariants.ts';
import { World } from '../support/faults/world.ts';

const MINUTE = 60_000;
/** Whether the lane has the message that the row says is queued. */
function hasItsMessage(world: World, row: NotificationRow): boolean {
  const { work_at = '' } = row;
  if (row.send_status !== 'RETRY' || !isQueued({ ...row, work_at })) return true;
  return world.queue.messages.some(({ message }) => message.log_id === row.log_id && message.due === work_at);
}

describe('a call that takes seconds, in which other workers take what becomes visible', () => {
  it('leaves no row that waits for a message which is gone', async () => {
    for (const slow of Array.from({ length: 8 }, (_, call) => call)) {
      const world = await World.of([{ log_id: 'log-1', priority: 'urgent', script: [] }]);
      world.channel.holds = 1;
      await world.sweep();
      await world.work({ slow: new Set([slow]) });
      for (const row of world.rows()) expect(hasItsMessage(world, row), `slow call ${slow}`).toBe(true);
      // Well before the next sweep, or the next run for urgent rows.
      for (let i = 0; i < 4; i++) {
        world.advance(MINUTE / 4);
        await world.drain();
      }
      expect(world.tables.row('log-1'), `slow call ${slow}`).toMatchObject({ send_status: 'SUCCESS' });
      assertInvariants(world);
    }
  });
});

describe('a RetryLog that hangs', () => {
  it('leads to no second send: the row of an accepted attempt takes the record before the worker’s time ends', async () => {
    const world = await World.of([
      { log_id: 'accepted', priority: 'info', script: [] },
      { log_id: 'accepted-too', priority: 'urgent', script: [] },
    ]);
    world.recordsHang = true;
    await world.sweep();
    for (let minute = 0; minute < 10; minute++) {
      await world.drain();
      world.advance(MINUTE);
    }
    expect(world.deaths).toBe(0);
    for (const { log_id } of world.given) {
      expect(world.tables.row(log_id)).toMatchObject({ send_status: 'SUCCESS', record_due: expect.any(String) });
      expect(world.provider.sends.get(log_id)).toBe(1);
    }
    world.recordsHang = false;
    await world.settleDown();
    assertInvariants(world);
  });
});
