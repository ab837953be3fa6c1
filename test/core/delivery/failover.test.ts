import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryTables } from '../../../simulation/twins/memory-tables.ts';
import { planClaim } from '../../../src/core/delivery/claim-plan.ts';
import { failOver, successorId, withdrawable } from '../../../src/core/delivery/failover.ts';
import { CANCELLATION } from '../../../src/core/delivery/transitions/without-attempt.ts';
import { failedBecause } from '../../../src/core/delivery/verdict.ts';
import type { ErrorType } from '../../../src/core/model/error-types.ts';
import { historyKeys } from '../../../src/core/model/history-index.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { queuedFor } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { exclusionOf } from '../../../src/core/operator/operations/exclusions.ts';
import { planRetry } from '../../../src/core/operator/retry-now.ts';
import { CONTENT, dueRow, iso, messageFor, received, T0 } from '../../support/rows.ts';

function setUp() {
  const tables = new MemoryTables(() => T0);
  let calls = 0;
  const { copyContent, put } = tables.successors;
  const successors: typeof tables.successors = {
    copyContent: (...args) => {
      calls += 1;
      return copyContent(...args);
    },
    put,
  };
  const content = { ...CONTENT, tenant_id: 'tenant-1', fallback: { recipient: 'https://hooks.example.com/secret' } };
  tables.content.set('log-1', content);
  return { tables, deps: { rows: tables.rows, successors, policy, clock: () => T0 }, calls: () => calls };
}

describe('a notification with a fallback', () => {
  it.each<[ErrorType, boolean]>([
    ['MAX_RETRIES', true],
    ['EXPIRED', true],
    ['INVALID_RECIPIENT', true],
    ['AUTH_FAILED', false],
    ['PERMISSION_DENIED', false],
    ['FORMAT_ERROR', false],
    ['CANCELLED', false],
  ])('that is given up for %s fails over: %s', async (reason, over) => {
    const { tables, deps } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    const { verdict, message } = await failOver(row, failedBecause(reason, 'UNKNOWN'), 'sweep-1', deps);
    expect('successor_log_id' in verdict).toBe(over);
    expect(message !== undefined).toBe(over);
    expect(tables.row('log-1-fallback') !== undefined).toBe(over);
  });

  it('continues in the same trace', async () => {
    const { tables, deps } = setUp();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const row = dueRow({ fallback_channel: 'teams', traceparent });
    await failOver(row, failedBecause('MAX_RETRIES', 'UNKNOWN'), 'sweep-1', deps);
    expect(tables.row('log-1-fallback')).toMatchObject({ traceparent });
  });

  it('waits for an operator where the stage does not have the channel of the fallback', async () => {
    const { tables, deps } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    for (const reason of ['MAX_RETRIES', 'INVALID_RECIPIENT'] as const) {
      const given = failedBecause(reason, 'UNKNOWN');
      const over = await failOver(row, given, 'sweep-1', { ...deps, channels: ['webhook', 'email'] });
      expect(over).toEqual({ verdict: { ...given, dead_letter: true } });
    }
    expect(tables.row('log-1-fallback')).toBeUndefined();
  });

  it('is SUCCESS without a successor when an event has shown since the claim that it arrived', async () => {
    const { tables, deps } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    tables.log.set('log-1', { ...row, delivery_by_attempt: { 0: 'delivered' } });
    const { verdict, message } = await failOver(row, failedBecause('MAX_RETRIES', 'UNKNOWN'), 'sweep-1', deps);
    expect({ verdict, message }).toEqual({ verdict: { status: 'SUCCESS' }, message: undefined });
    expect(tables.row('log-1-fallback')).toBeUndefined();
  });

  it('is SUCCESS by what events have just shown, but only while its claim is as it was read', async () => {
    const { tables, deps } = setUp();
    const row = dueRow({ fallback_channel: 'teams', send_status: 'SENDING', last_attempt: 1 });
    const delivery_by_attempt = { 0: 'delivered' } as const;
    tables.log.set('log-1', { ...row, last_attempt: 2, delivery_by_attempt });
    const { shown } = await failOver(row, failedBecause('MAX_RETRIES', 'UNKNOWN'), 'sweep-1', deps);
    expect(shown).toEqual({ ...row, delivery_by_attempt });
  });

  it('gives its successor its priority, limit and notification_id, and a new budget and window', async () => {
    const { tables, deps } = setUp();
    const row = {
      ...dueRow({ fallback_channel: 'teams', priority: 'urgent', max_retry_count: 2, notification_id: 'N1' }),
      recipient_type: 'USER' as const,
      error_message: 'the endpoint answered 503',
    };
    const columns = { setting_id: 'S1', template_id: null, created_by: 'BATCH-951', subject: 'Not copied' };
    const given = { ...row, ...columns } as NotificationRow;
    const { verdict, message } = await failOver(given, failedBecause('EXPIRED', 'UNKNOWN'), 'sweep-1', deps);
    const now = iso();
    expect(tables.log.get('log-1-fallback')).toStrictEqual({
      log_id: 'log-1-fallback',
      tenant_id: 'tenant-1',
      predecessor_log_id: 'log-1',
      notification_id: 'N1',
      setting_id: 'S1',
      created_by: 'BATCH-951',
      channel: 'teams',
      notification_type: 'TEAMS',
      priority: 'urgent',
      max_retry_count: 2,
      send_status: 'PENDING',
      send_attempts: 0,
      attempts_left: 3,
      retry_count: 0,
      last_attempt: -1,
      is_deleted: false,
      provider_host: 'hooks.example.com',
      recipient_hash: 'hash of tenant-1/https://hooks.example.com/secret',
      work_queue: workQueueOf('due', 'urgent', 'log-1'),
      work_at: now,
      ...queuedFor(now, { priority: 'urgent' }, T0),
      created_at: now,
      updated_at: now,
      updated_by: 'notification-retry',
      ...historyKeys({ log_id: 'log-1-fallback', tenant_id: 'tenant-1', notification_id: 'N1' }, T0),
    });
    expect(verdict).toEqual({
      status: 'FAILED',
      error_type: 'UNKNOWN',
      failure_reason: 'EXPIRED',
      dead_letter: false,
      successor_log_id: 'log-1-fallback',
    });
    expect(message).toEqual({
      ...messageFor(dueRow({ log_id: 'log-1-fallback', channel: 'teams', priority: 'urgent' })),
      due: now,
    });
  });

  it('gives its successor the content, which expires two years after the failover', async () => {
    const { tables, deps } = setUp();
    const asked: unknown[] = [];
    const copyContent: typeof tables.successors.copyContent = (row, successor) => {
      asked.push(successor);
      return tables.successors.copyContent(row, successor);
    };
    const successors = { ...tables.successors, copyContent };
    const row = dueRow({ fallback_channel: 'teams' });
    await failOver(row, failedBecause('MAX_RETRIES', 'UNKNOWN'), 'sweep-1', { ...deps, successors });
    expect(asked).toEqual([{ log_id: 'log-1-fallback', expires_at: T0.getTime() / 1000 + 730 * 86_400 }]);
    expect(tables.content.get('log-1-fallback')).toMatchObject({ recipient: 'https://hooks.example.com/secret' });
  });

  it('stays dead when the content for the other channel is missing', async () => {
    const { tables, deps } = setUp();
    tables.content.clear();
    const verdict = failedBecause('MAX_RETRIES', 'UNKNOWN');
    const row = dueRow({ fallback_channel: 'teams' });
    expect(await failOver(row, verdict, 'sweep-1', deps)).toEqual({ verdict });
    expect(tables.log.size).toBe(0);
  });

  it('stays dead when the id of its successor belongs to a notification of someone else', async () => {
    const { tables, deps } = setUp();
    const theirs = dueRow({ log_id: 'log-1-fallback' });
    tables.log.set(theirs.log_id, { ...theirs });
    const verdict = failedBecause('MAX_RETRIES', 'UNKNOWN');
    const row = dueRow({ fallback_channel: 'teams' });
    expect(await failOver(row, verdict, 'sweep-1', deps)).toEqual({ verdict });
    expect(tables.row('log-1-fallback')).toEqual(theirs);
  });

  it('sends no second message for a successor that is delivered already', async () => {
    const { tables, deps } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    const verdict = failedBecause('MAX_RETRIES', 'UNKNOWN');
    const first = await failOver(row, verdict, 'sweep-1', deps);
    const { work_queue: _, work_at: __, ...done } = tables.log.get('log-1-fallback') ?? {};
    tables.log.set('log-1-fallback', { ...done, send_status: 'SUCCESS' });
    expect(await failOver(row, verdict, 'sweep-2', deps)).toEqual({ verdict: first.verdict });
  });

  it('has a letter when its successor was withdrawn, because it seemed to have arrived, or has ended otherwise', async () => {
    const { tables, deps } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    const verdict = failedBecause('INVALID_RECIPIENT', 'INVALID_RECIPIENT');
    await failOver(row, verdict, 'sweep-1', deps);
    await tables.rows.change(tables.row('log-1-fallback') as NotificationRow, CANCELLATION);
    expect(await failOver(row, verdict, 'sweep-2', deps)).toEqual({ verdict: { ...verdict, dead_letter: true } });
    const dead = dueRow({ work_queue: workQueueOf('dead', 'normal', 'log-1', 1), send_status: 'FAILED' });
    const continued = { ...dead, failure_reason: 'INVALID_RECIPIENT', successor_log_id: 'log-1-fallback' };
    expect(exclusionOf(continued, {}, T0)).toBeUndefined();
  });

  it('has no work left after its failover, for no caller', async () => {
    const row = dueRow({
      send_status: 'FAILED',
      failure_reason: 'MAX_RETRIES',
      fallback_channel: 'teams',
      successor_log_id: 'log-1-fallback',
    });
    const { work_queue: _, ...over } = row;
    const force = received(messageFor(row, { options: { force: true } }));
    expect(planClaim(over, force, { now: T0, until: iso(), by: 'token' }, policy)).toMatchObject({ do: 'drop' });
    expect(exclusionOf({ ...over }, { include_stopped: true }, T0)).toBe('failed_over');
    expect(planRetry(over, T0, policy)).toMatchObject({ do: 'refuse', because: expect.stringContaining('log-1-fall') });
  });
});

it('a notification without a fallback makes no further calls', async () => {
  const { deps, calls } = setUp();
  const verdict = failedBecause('MAX_RETRIES', 'UNKNOWN');
  expect(await failOver(dueRow(), verdict, 'sweep-1', deps)).toEqual({ verdict });
  expect(calls()).toBe(0);
});

it.each([
  ['withdrawn', {}, true],
  ['left for its next message to settle, where an event has shown it to have arrived', { 0: 'delivered' }, false],
] as const)('a successor that waits is %s', async (_, delivery_by_attempt, expected) => {
  const tables = new MemoryTables(() => T0);
  const successor = { log_id: successorId('log-1'), predecessor_log_id: 'log-1', delivery_by_attempt };
  tables.log.set(successor.log_id, { ...dueRow({ ...successor, send_status: 'RETRY' }) });
  const row = dueRow({ fallback_channel: 'email' });
  const found = await withdrawable(row, { rows: tables.rows, clock: () => T0 });
  expect(found !== undefined).toBe(expected);
});

describe('a successor’s log_id', () => {
  it('is no longer than the table allows, and unique for its predecessor', () => {
    // As long as a message allows, so that most of them are longer than the table's column.
    const id = fc.string({ minLength: 1, maxLength: 100, size: 'max' });
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(successorId(a).length).toBeLessThanOrEqual(50);
        expect(successorId(a) === successorId(b)).toBe(a === b);
      }),
    );
  });

  it('is told apart from that of an id with the same beginning', () => {
    const long = 'n'.repeat(50);
    expect(successorId(`${long}1`)).not.toBe(successorId(`${long}2`));
    // Storage takes no half of a surrogate pair.
    for (const units of [0, 1, 2])
      expect(successorId(`${'n'.repeat(units)}${'😀'.repeat(30)}`).isWellFormed()).toBe(true);
    expect(successorId('n'.repeat(41))).toBe(`${'n'.repeat(41)}-fallback`);
    // The hash keeps its leading zeros.
    const ids = Array.from({ length: 300 }, (_, i) => successorId(`${i}-${'n'.repeat(42)}`));
    for (const id of ids) expect(id).toMatch(/^[0-9]+-n+-[0-9a-f]{8}-fallback$/);
    expect(ids.some((id) => id.includes('-0'))).toBe(true);
  });
});
