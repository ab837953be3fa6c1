import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { planClaim } from '../../../src/core/delivery/claim-plan.ts';
import { failOver, successorId } from '../../../src/core/delivery/failover.ts';
import { giveUp } from '../../../src/core/delivery/verdict.ts';
import type { ErrorType } from '../../../src/core/model/error-types.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { exclusionOf } from '../../../src/core/operator/operations/exclusions.ts';
import { planRetry } from '../../../src/core/operator/retry-now.ts';
import { CONTENT, dueRow, messageFor, received, T0 } from '../../support/rows.ts';

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
    const { verdict, message } = await failOver(row, giveUp(reason, 'UNKNOWN'), 'sweep-1', deps);
    expect('successor_log_id' in verdict).toBe(over);
    expect(message !== undefined).toBe(over);
    expect(tables.row('log-1-fallback') !== undefined).toBe(over);
  });

  it('is SUCCESS without a successor when an event has shown since the claim that it arrived', async () => {
    const { tables, deps } = setUp();
    const row = dueRow({ fallback_channel: 'teams' });
    tables.log.set('log-1', { ...row, delivery_by_attempt: { 0: 'delivered' } });
    const { verdict, message } = await failOver(row, giveUp('MAX_RETRIES', 'UNKNOWN'), 'sweep-1', deps);
    expect({ verdict, message }).toEqual({ verdict: { status: 'SUCCESS' }, message: undefined });
    expect(tables.row('log-1-fallback')).toBeUndefined();
  });

  it('gives its successor its priority, limit and notification_id, and a new budget and window', async () => {
    const { tables, deps } = setUp();
    const row = {
      ...dueRow({ fallback_channel: 'teams', priority: 'urgent', max_retry_count: 2, notification_id: 'N1' }),
      recipient_type: 'USER' as const,
      error_message: 'the endpoint answered 503',
    };
    await failOver(row, giveUp('EXPIRED', 'UNKNOWN'), 'sweep-1', deps);
    const successor = tables.row('log-1-fallback');
    expect(successor).toMatchObject({
      channel: 'teams',
      notification_type: 'TEAMS',
      priority: 'urgent',
      notification_id: 'N1',
      send_status: 'PENDING',
      attempts_left: 3,
      provider_host: 'hooks.example.com',
      work_at: T0.toISOString(),
    });
    for (const column of ['first_attempt_at', 'error_message', 'recipient_type', 'fallback_channel']) {
      expect(successor).not.toHaveProperty(column);
    }
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
    expect(planClaim(over, force, { now: T0, until: T0.toISOString(), by: 'token' }, policy)).toMatchObject({
      do: 'drop',
    });
    expect(exclusionOf({ ...over }, { include_stopped: true }, T0)).toBe('failed_over');
    expect(planRetry(over, T0, policy)).toMatchObject({ do: 'refuse', because: expect.stringContaining('log-1-fall') });
  });
});

describe('a notification without a fallback', () => {
  it('makes no further calls', async () => {
    const { deps, calls } = setUp();
    const verdict = giveUp('MAX_RETRIES', 'UNKNOWN');
    expect(await failOver(dueRow(), verdict, 'sweep-1', deps)).toEqual({ verdict });
    expect(calls()).toBe(0);
  });
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
    expect(successorId('n'.repeat(41))).toBe(`${'n'.repeat(41)}-fallback`);
    expect(successorId('n'.repeat(42))).toMatch(/^n{32}-[0-9a-f]{8}-fallback$/);
  });
});
