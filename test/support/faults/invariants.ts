import { expect } from 'vitest';
import { successorId } from '../../../src/core/delivery/failover.ts';
import { deadlineOf, limitOf } from '../../../src/core/delivery/verdict.ts';
import { INTAKE_API, type NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { SWEEP_INTERVAL_MS } from './dispatcher.ts';
import type { World } from './world.ts';

/** Checks the invariants of docs/architecture.md in a world without work left. */
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
  for (const { log_id, send_status, failure_reason } of world.hostileRows()) {
    expect(world.inIndex('due', log_id), `${log_id} waits for work`).toBe(false);
    expect(world.provider.sends.has(log_id), `${log_id} was sent`).toBe(false);
    const said = send_status === 'SUCCESS' ? 'delivered' : `${send_status} ${failure_reason}`;
    expect(said, `${log_id} left the index without a reason`).toMatch(/^delivered$|^FAILED [A-Z]/);
  }
  const queued = JSON.stringify([world.queue.messages, world.queue.dead_letters, world.reports]);
  expect(queued, 'invariant 9').not.toMatch(/"to |words for/);
}

/**
 * Rows that must not expire unsent from now on, if storage answers and their provider takes what it is given: a lost
 * message costs a row a third of its window (docs/decisions/delivery/sweep-and-backlog.md#0179), and a breaker may hold
 * it for up to an interval.
 */
export function inTime(world: World): string[] {
  const now = world.clock().getTime();
  return world.rows().flatMap((row) => {
    const { log_id, priority, send_status, updated_at, work_at = '', is_deleted, give_up } = row;
    // Who takes over an attempt finds its time in the record.
    const first_attempt_at = row.first_attempt_at ?? (send_status === 'SENDING' ? updated_at : undefined);
    const due = world.inIndex('due', log_id) && Date.parse(work_at) <= now && !is_deleted && give_up === undefined;
    if (!due || world.provider.sends.has(log_id)) return [];
    const { retention_ms } = DEFAULT_RETRY_POLICY.priorities[priority];
    const deadline = first_attempt_at ? deadlineOf(first_attempt_at, row, DEFAULT_RETRY_POLICY) : now + retention_ms;
    return deadline > now + retention_ms / 3 + SWEEP_INTERVAL_MS ? [log_id] : [];
  });
}

/** @param expected what `inTime` gave before the world settled */
export function assertSent(world: World, expected: readonly string[]): void {
  const expired = world.rows().filter(({ log_id, failure_reason }) => {
    return expected.includes(log_id) && failure_reason === 'EXPIRED' && !world.provider.sends.has(log_id);
  });
  expect(
    expired.map(({ log_id, priority }) => `${log_id} (${priority})`),
    'expired unsent while the provider was up',
  ).toEqual([]);
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
