import { describe, expect, it } from 'vitest';
import { recordedAttempt, resultOf } from '../../../src/core/delivery/retry-record.ts';
import type { RetryRecord } from '../../../src/core/model/notification.ts';
import { randomToken } from '../../../src/core/model/queue-message.ts';
import { NOW, retryRecord } from '../../support/delivering.ts';
import { at, dueRow, iso, messageFor, received } from '../../support/rows.ts';

const row = dueRow({ send_status: 'SENDING', last_attempt: 1 });
const message = received(messageFor(row, { run_id: 'sweep-2' }), { message_id: 'message-2' });
const taken = (changes: Partial<RetryRecord>, of = row) =>
  recordedAttempt(of, retryRecord({ retry_at: iso(500), ...changes }), message, NOW);

describe('an attempt as its record describes it', () => {
  const whole = {
    row,
    first_attempt_at: iso(),
    counted: true,
    trigger: 'sweep',
    requested_by: 'schedule',
    run_id: 'sweep-2',
    received: message,
    started: at(500),
  };

  it('that was accepted ended when it was made', () => {
    expect(taken({ retry_status: 'SUCCESS', response_code: '202' })).toEqual({
      ...whole,
      ended: at(500),
      verdict: { status: 'SUCCESS' },
      result: { ok: true, response_code: '202' },
    });
  });

  it('that failed ends now, and is retried at the time of its record', () => {
    const next_retry_at = iso(9_000);
    expect(taken({ error_type: 'NETWORK_TIMEOUT', response_message: 'late', next_retry_at })).toEqual({
      ...whole,
      ended: NOW,
      verdict: { status: 'RETRY', error_type: 'NETWORK_TIMEOUT', next_retry_at, counted: true },
      result: { ok: false, error_type: 'NETWORK_TIMEOUT', message: 'late' },
    });
    expect(taken({ uncounted: true }).verdict).toEqual({
      status: 'RETRY',
      error_type: 'UNKNOWN',
      next_retry_at: iso(500),
      counted: false,
    });
  });

  it.each([
    ['MAX_RETRIES', true],
    ['INVALID_RECIPIENT', false],
  ] as const)('that was the last one is given up for %s; a dead letter: %s', (failure_reason, dead_letter) => {
    expect(taken({ error_type: 'UNKNOWN', failure_reason }).verdict).toEqual({
      status: 'FAILED',
      error_type: 'UNKNOWN',
      failure_reason,
      dead_letter,
    });
  });

  it('that was skipped has no answer; a row never attempted begins its window with the record', () => {
    expect(taken({ retry_status: 'SKIPPED' })).not.toHaveProperty('result');
    const { first_attempt_at: _, ...first } = dueRow({ send_attempts: 0 });
    expect(taken({}, first)).toMatchObject({ first_attempt_at: iso(500), counted: false });
  });
});

describe('the answer in a record', () => {
  it.each(['MAX_RETRIES', 'EXPIRED', 'CANCELLED', undefined] as const)(
    'without an error of the provider is UNKNOWN: %s',
    (error_type) => {
      const record = retryRecord({ ...(error_type && { error_type }), response_code: '500' });
      expect(resultOf(record)).toEqual({ ok: false, error_type: 'UNKNOWN', message: '', response_code: '500' });
    },
  );

  it('that was accepted without a code has an empty one', () => {
    expect(resultOf(retryRecord({ retry_status: 'SUCCESS' }))).toEqual({ ok: true, response_code: '' });
  });
});

it.each([
  [0, '000000'],
  [0.5, 'i00000'],
  [1 - Number.EPSILON, 'zzzzzz'],
])('the token of a claim has six characters: %d', (drawn, token) => expect(randomToken(() => drawn)).toBe(token));
