import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
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
  const deps = { rows: tables.rows, successors, policy, clock: () => T0 };
  /** The row as a worker has it. @param noted what others have noted on it since */
  const over = (row: NotificationRow, reason: ErrorType, noted: Partial<NotificationRow> = {}, run_id = 'sweep-1') => {
    tables.log.set(row.log_id, { ...row, ...noted });
    return failOver(row, failedBecause(reason, 'UNKNOWN'), run_id, deps);
  };
  return { tables, deps, over, calls: () => calls };
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
  ])('that is given up for %s fails over: %s', async (reason, expected) => {
    const { tables, over } = setUp();
    const { verdict, message } = await over(dueRow({ fallback_channel: 'teams' }), reason);
    expect('successor_log_id' in verdict).toBe(expected);
    expect(message !== undefined).toBe(expected);
    expect(tables.row('log-1-fallback') !== undefined).toBe(expected);
  });

  it('continues in the same trace', async () => {
    const { tables, over } = setUp();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await over(dueRow({ fallback_channel: 'teams', traceparent }), 'MAX_RETRIES');
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

  const row = dueRow({ fallback_channel: 'teams', send_status: 'SENDING', last_attempt: 1, claim_id: 'c' });
  const ended = { status: 'FAILED', failure_reason: 'CANCELLED', dead_letter: false } as const;

  it.each<[string, Partial<NotificationRow> & object, object]>([
    ['an event has shown that it arrived', { delivery_by_attempt: { 0: 'delivered' } }, { status: 'SUCCESS' }],
    ['its writer has deleted it', { is_deleted: true }, ended],
    ['an operator has erased it', { erased_at: iso() }, ended],
    [
      'its writer has corrected it',
      { recipient_address: 'new@example.com' } as object,
      { status: 'RETRY', next_retry_at: iso(60_000), counted: true },
    ],
  ])('has none where since the claim %s', async (_, noted, verdict) => {
    const { tables, over } = setUp();
    const outcome = await over(row, 'MAX_RETRIES', noted);
    expect(outcome).toMatchObject({ verdict, current: { ...row, ...noted } });
    expect(outcome).not.toHaveProperty('message');
    expect([tables.row('log-1-fallback'), tables.content.get('log-1-fallback')]).toEqual([undefined, undefined]);
  });

  it.each<[string, Partial<NotificationRow>]>([
    ['claimed it since', { last_attempt: 2, claim_id: 'd' }],
    ['put it anew', { send_status: 'FAILED', last_attempt: -1 }],
  ])('leaves it to whoever has %s', async (_, now) => {
    const { tables, over } = setUp();
    expect(await over(row, 'MAX_RETRIES', now)).toEqual({ verdict: failedBecause('MAX_RETRIES', 'UNKNOWN') });
    expect(tables.row('log-1-fallback')).toBeUndefined();
  });

  it('has the successor of its own life, and none with the content of another one', async () => {
    const { tables, over } = setUp();
    const fallback = { recipient: 'https://hooks.example.com/corrected' };
    tables.content.set('log-1', { ...CONTENT, tenant_id: 'tenant-1', fallback, life: 7 });
    tables.content.set('log-1-fallback', { ...CONTENT, tenant_id: 'tenant-1', body: 'of a former life' });
    expect(await over(row, 'MAX_RETRIES')).toEqual({ verdict: failedBecause('MAX_RETRIES', 'UNKNOWN') });
    const { verdict } = await over({ ...row, life: 7 }, 'MAX_RETRIES');
    expect(verdict).toMatchObject({ successor_log_id: 'log-1-fallback-7' });
    expect(tables.content.get('log-1-fallback-7')).toMatchObject({ recipient: fallback.recipient, body: CONTENT.body });
    expect(tables.row('log-1-fallback-7')).toMatchObject({ predecessor_log_id: 'log-1' });
  });

  it('gives its successor its priority, limit and notification_id, and a new budget and window', async () => {
    const { tables, over } = setUp();
    const row = {
      ...dueRow({ fallback_channel: 'teams', priority: 'urgent', max_retry_count: 2, notification_id: 'N1' }),
      recipient_type: 'USER' as const,
      error_message: 'the endpoint answered 503',
    };
    const columns = { setting_id: 'S1', template_id: null, created_by: 'BATCH-951', subject: 'Not copied' };
    const given = { ...row, ...columns } as NotificationRow;
    const { verdict, message } = await over(given, 'EXPIRED', { subject: undefined } as object);
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
    tables.log.set('log-1', { ...row });
    await failOver(row, failedBecause('MAX_RETRIES', 'UNKNOWN'), 'sweep-1', { ...deps, successors });
    expect(asked).toEqual([{ log_id: 'log-1-fallback', expires_at: T0.getTime() / 1000 + 730 * 86_400 }]);
    expect(tables.content.get('log-1-fallback')).toMatchObject({ recipient: 'https://hooks.example.com/secret' });
  });

  it('stays dead when the content for the other channel is missing', async () => {
    const { tables, over } = setUp();
    tables.content.clear();
    const verdict = failedBecause('MAX_RETRIES', 'UNKNOWN');
    expect(await over(dueRow({ fallback_channel: 'teams' }), 'MAX_RETRIES')).toEqual({ verdict });
    expect(tables.log.size).toBe(1);
  });

  it.each<[string, (tables: ReturnType<typeof setUp>['tables']) => unknown]>([
    ['the content for the other channel is missing', ({ content }) => content.clear()],
    [
      'the content is of another life',
      ({ content }) => content.set('log-1', { ...CONTENT, tenant_id: 'tenant-1', life: 7 }),
    ],
    ['its id is of someone else', ({ log }) => log.set('log-1-fallback', { ...dueRow({ log_id: 'log-1-fallback' }) })],
  ])('has a letter after INVALID_RECIPIENT where it cannot be handed on: %s', async (_, prepare) => {
    const { tables, over } = setUp();
    prepare(tables);
    const verdict = { ...failedBecause('INVALID_RECIPIENT', 'UNKNOWN'), dead_letter: true };
    expect(await over(dueRow({ fallback_channel: 'teams' }), 'INVALID_RECIPIENT')).toEqual({ verdict });
  });

  it('stays dead when the id of its successor belongs to a notification of someone else', async () => {
    const { tables, over } = setUp();
    const theirs = dueRow({ log_id: 'log-1-fallback' });
    tables.log.set(theirs.log_id, { ...theirs });
    const verdict = failedBecause('MAX_RETRIES', 'UNKNOWN');
    expect(await over(dueRow({ fallback_channel: 'teams' }), 'MAX_RETRIES')).toEqual({ verdict });
    expect(tables.row('log-1-fallback')).toEqual(theirs);
  });

  it('sends no second message for a successor that is delivered already', async () => {
    const { tables, over } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    const first = await over(row, 'MAX_RETRIES');
    const { work_queue: _, work_at: __, ...done } = tables.log.get('log-1-fallback') ?? {};
    tables.log.set('log-1-fallback', { ...done, send_status: 'SUCCESS' });
    expect(await over(row, 'MAX_RETRIES', {}, 'sweep-2')).toEqual({ verdict: first.verdict, current: row });
  });

  it('has a letter when its successor was withdrawn, because it seemed to have arrived, or has ended otherwise', async () => {
    const { tables, over } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    const verdict = failedBecause('INVALID_RECIPIENT', 'UNKNOWN');
    await over(row, 'INVALID_RECIPIENT');
    await tables.rows.change(tables.row('log-1-fallback') as NotificationRow, CANCELLATION);
    expect(await over(row, 'INVALID_RECIPIENT')).toEqual({ verdict: { ...verdict, dead_letter: true } });
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
    const life = fc.option(fc.nat(), { nil: undefined });
    fc.assert(
      fc.property(id, id, life, life, (a, b, first, second) => {
        expect(successorId(a, first).length).toBeLessThanOrEqual(50);
        expect(successorId(a, first) === successorId(b, second)).toBe(a === b && first === second);
        expect(successorId(a, first) === successorId(a, second)).toBe(first === second);
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
