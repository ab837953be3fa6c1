import { expect } from 'vitest';
import { successorId } from '../../../src/core/delivery/failover.ts';
import { limitOf } from '../../../src/core/delivery/verdict.ts';
import { INTAKE_API, type NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { World } from './world.ts';

/** Checks the invariants of design §7 in a world without work left. */
export function assertInvariants(world: World): void {
  expect(world.provider.violations, '2, 5, 7: what the provider saw').toEqual([]);
  for (const row of world.rows()) {
    const { log_id } = row;
    const name = (number: number) => `invariant ${number} of ${log_id}`;
    const accepted = world.provider.accepted.get(log_id) ?? 0;
    const finished =
      row.send_status === 'SUCCESS' || (row.send_status === 'FAILED' && row.failure_reason !== undefined);
    expect(finished, `${name(1)}: it reached its end, not ${row.send_status}`).toBe(true);
    expect(world.inIndex('due', log_id), name(1)).toBe(false);
    expect(row.send_status === 'SUCCESS' ? accepted > 0 : true, `${name(1)}: delivered means accepted`).toBe(true);
    expect(row).not.toHaveProperty('next_retry_at');
    expect(row, `${name(6)}: it owes no record`).not.toHaveProperty('record_due');
    expect(accepted, name(3)).toBeLessThanOrEqual(1 + (world.excused.get(log_id) ?? 0));
    expect(row.send_attempts, name(4)).toBeLessThanOrEqual(limitOf(row, DEFAULT_RETRY_POLICY) + 1);
    const attempts = world.records(log_id).map(({ retry_attempt }) => retry_attempt);
    // A given row was sent once already; a successor and a row from the API were not.
    const first = row.predecessor_log_id === undefined && row.created_by !== INTAKE_API ? 1 : 0;
    const expected = Array.from({ length: row.last_attempt + 1 - first }, (_, i) => i + first);
    expect(
      attempts.sort((a, b) => a - b),
      name(6),
    ).toEqual(expected);
    assertDelays(world, log_id);
    assertFailedOver(world, row);
  }
  const queued = JSON.stringify([world.queue.messages, world.queue.dead_letters, world.reports]);
  expect(queued, 'invariant 9').not.toMatch(/"to |body/);
}

/** A row with a fallback that is given up has one successor, linked both ways, and nothing can send the row again. */
function assertFailedOver(world: World, row: NotificationRow): void {
  const { log_id, failure_reason, fallback_channel, successor_log_id } = row;
  const ends: (string | undefined)[] = ['MAX_RETRIES', 'EXPIRED', 'INVALID_RECIPIENT'];
  const expected = fallback_channel && ends.includes(failure_reason) ? successorId(log_id) : undefined;
  expect(successor_log_id, `the successor of ${log_id}`).toBe(expected);
  if (expected === undefined) return;
  expect(world.tables.row(expected), `the successor of ${log_id}`).toMatchObject({
    predecessor_log_id: log_id,
    channel: fallback_channel,
  });
  expect(world.inIndex('dead', log_id), `${log_id} waits for an operator`).toBe(false);
}

function assertDelays(world: World, log_id: string): void {
  for (const { retry_status, error_type, retry_at, next_retry_at, response_message } of world.records(log_id)) {
    if (retry_status !== 'FAILED' || next_retry_at === undefined || response_message?.includes('died')) continue;
    const wait = Date.parse(next_retry_at) - Date.parse(retry_at);
    const factor = error_type === 'SERVER_OVERLOAD' ? 2 : 1;
    expect(wait, `invariant 7 of ${log_id}`).toBeGreaterThanOrEqual(DEFAULT_RETRY_POLICY.base_interval_ms * factor);
  }
}
