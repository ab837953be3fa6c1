import { describe, expect, it } from 'vitest';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import type { SendResult } from '../../../src/core/delivery/ports.ts';
import { isStored, owedRecord, recordDue, recordOf } from '../../../src/core/delivery/retry-record.ts';
import { failedBecause, type Verdict } from '../../../src/core/delivery/verdict.ts';
import { policyOf } from '../../../src/core/model/error-types.ts';
import { traceOf } from '../../../src/core/model/trace.ts';
import { retryRecord } from '../../support/delivering.ts';
import { itemSize } from '../../support/item-size.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

const next_retry_at = iso(600_000);
const retry = { status: 'RETRY', error_type: 'SERVER_OVERLOAD', next_retry_at, counted: true } as const;
const refusal = {
  ok: false,
  error_type: 'SERVER_OVERLOAD',
  response_code: '503',
  message: 'overloaded',
  details: { status: 503 },
} as const;

const recorded = (verdict: Verdict, result?: SendResult, more = {}) =>
  recordOf({
    row: dueRow({ last_attempt: 1, claim_id: '000000' }),
    trigger: 'sweep',
    requested_by: 'schedule',
    run_id: 'sweep-1',
    started: T0,
    ended: at(20),
    verdict,
    ...(result && { result }),
    ...more,
  });
/** Every record says when, for how long and by which run. */
const whole = (changes: Parameters<typeof retryRecord>[0]) =>
  retryRecord({ retry_at: iso(), duration_ms: 20, ...changes });

describe('the record of an attempt', () => {
  it('that was accepted has the provider’s words, and nothing of a failure', () => {
    const result = { ok: true, response_code: '202', response_message: 'taken', provider_message_id: 'p-1' } as const;
    const { ok: _, ...said } = result;
    expect(recorded({ status: 'SUCCESS' }, result)).toStrictEqual(whole({ retry_status: 'SUCCESS', ...said }));
  });

  it('has the attempt’s span in the trace of the notification', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const row = dueRow({ last_attempt: 1, traceparent });
    const result = { ok: true, response_code: '202' } as const;
    const record = recorded({ status: 'SUCCESS' }, result, { row });
    expect(record.traceparent).toBe(traceOf(row, 1)?.traceparent);
    // Of a record that the row keeps while RetryLog refuses it, too.
    expect(owedRecord({ ...row, record_due: recordDue(record) })).toEqual(record);
  });

  const failed = {
    error_type: 'SERVER_OVERLOAD',
    response_code: '503',
    response_message: 'overloaded',
    error_details: '{"status":503}',
  } as const;

  it('that is retried says when, and what a person should do', () => {
    const { remedy } = policyOf('SERVER_OVERLOAD');
    expect(recorded(retry, refusal)).toStrictEqual(whole({ ...failed, remedy, next_retry_at }));
    expect(recorded({ ...retry, counted: false }, refusal)).toStrictEqual(
      whole({ ...failed, remedy, next_retry_at, uncounted: true }),
    );
  });

  it('after which the notification is given up says why, and the remedy for that', () => {
    const remedy = 'Check that the receiver is up, then redrive.';
    expect(recorded(failedBecause('MAX_RETRIES', 'SERVER_OVERLOAD'), refusal)).toStrictEqual(
      whole({ ...failed, remedy, failure_reason: 'MAX_RETRIES' }),
    );
  });

  it('that a breaker held names it', () => {
    const held_by = { breaker: 'webhook#IC1' };
    const { remedy } = policyOf('SERVER_OVERLOAD');
    expect(recorded({ ...retry, counted: false }, undefined, { held_by, ended: T0 })).toStrictEqual(
      whole({
        retry_status: 'SKIPPED',
        duration_ms: 0,
        error_type: 'SERVER_OVERLOAD',
        remedy,
        error_details: JSON.stringify(held_by),
        next_retry_at,
        uncounted: true,
      }),
    );
  });

  it('that was not made because an earlier one arrived says so', () => {
    expect(recorded({ status: 'SUCCESS' }, undefined, { ended: T0 })).toStrictEqual(
      whole({
        retry_status: 'SKIPPED',
        duration_ms: 0,
        response_message: 'Nothing was sent: an event had shown that an earlier attempt arrived.',
      }),
    );
  });

  const sizeOf = (record: object) => itemSize(toItem({ ...record, expires_at: 1_900_000_000 }));

  it.each([
    ['latin', 'y', 450],
    ['japanese', '接', 140],
    ['quoted', '"', 150],
    ['emoji', '🐝', 110],
  ])('keeps of an answer (%s) what its write unit has room for, and stays JSON', (_, character, least) => {
    for (const length of [10, 300, 420, 450, 480, 1_000, 5_000]) {
      const text = character.repeat(length);
      const record = recorded(retry, { ...refusal, details: { text } });
      const { text: kept, shortened } = JSON.parse(record.error_details ?? '');
      expect(sizeOf(record)).toBeLessThanOrEqual(1024);
      if (kept === undefined) expect(shortened.length).toBeGreaterThan(least);
      else expect(kept).toBe(text);
      if (kept === undefined) expect(sizeOf(record)).toBeGreaterThan(1024 - 16);
    }
  });

  it('has no details where the ids take the room, but a cause', () => {
    const row = dueRow({ log_id: 'あ'.repeat(50), tenant_id: 'あ'.repeat(50), last_attempt: 1 });
    const message = 'あ'.repeat(500);
    const record = recorded(
      retry,
      { ...refusal, message, details: { text: message } },
      { row, run_id: 'い'.repeat(60) },
    );
    expect(JSON.parse(record.error_details ?? '')).toBeTypeOf('object');
    expect(sizeOf(record)).toBeLessThanOrEqual(2048);
    expect(record.response_message).toHaveLength(120);
  });

  it('shortens code, message and id', () => {
    const long = { ok: true, response_code: '2'.repeat(21), response_message: 'm'.repeat(121) } as const;
    const { response_code, response_message, provider_message_id } = recorded(
      { status: 'SUCCESS' },
      { ...long, provider_message_id: 'p'.repeat(101) },
    );
    expect([response_code, response_message, provider_message_id]).toEqual([
      `${'2'.repeat(19)}…`,
      `${'m'.repeat(119)}…`,
      `${'p'.repeat(99)}…`,
    ]);
  });
});

describe('a stored record', () => {
  const record = retryRecord({ retry_status: 'SUCCESS' });

  it.each([
    ['there is none', undefined, false],
    ['it is the same', { ...record }, true],
    ['it has columns of others, too', { ...record, delivered_at: iso() }, true],
    ['another worker says something else', { ...record, retry_status: 'FAILED' }, false],
    ['a column is missing', { ...record, duration_ms: undefined }, false],
  ] as const)('is one’s own or not: %s', (_, stored, own) => {
    expect(isStored(record, stored as typeof record | undefined)).toBe(own);
  });
});
