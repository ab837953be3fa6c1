import { describe, expect, it } from 'vitest';
import type { Attempt } from '../../../src/core/delivery/attempt.ts';
import type { SendResult } from '../../../src/core/delivery/ports.ts';
import { retryLogId } from '../../../src/core/delivery/retry-record.ts';
import { settlementOf, settlementWithPendingRecord } from '../../../src/core/delivery/transitions/settlements.ts';
import { failedBecause, type Verdict } from '../../../src/core/delivery/verdict.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { at, dueRow, iso, messageFor, received, T0 } from '../../support/rows.ts';

const ENDED = at(20);
const accepted: SendResult = { ok: true, response_code: '200', response_message: 'OK' };
const refused: SendResult = { ok: false, error_type: 'SERVER_OVERLOAD', response_code: '503', message: 'overloaded' };
const retryAt = (ms: number, counted = true): Verdict => ({
  status: 'RETRY',
  error_type: 'SERVER_OVERLOAD',
  next_retry_at: iso(ms),
  counted,
});
const MINUTE = 60_000;

/** The second attempt, as claimed. */
const claimed = (changes: Partial<NotificationRow> = {}) =>
  dueRow({ send_status: 'SENDING', send_attempts: 2, attempts_left: 4, retry_count: 0, last_attempt: 1, ...changes });

function ended(
  verdict: Verdict,
  result?: SendResult,
  row = claimed(),
  more: Partial<Attempt<'judged'>> = {},
): Attempt<'judged'> {
  return {
    row,
    first_attempt_at: iso(),
    counted: true,
    trigger: 'sweep',
    requested_by: 'schedule',
    run_id: 'sweep-7',
    received: received(messageFor(row, { run_id: 'sweep-7' }), { message_id: 'message-7' }),
    started: T0,
    ended: ENDED,
    verdict,
    ...(result && { result }),
    ...more,
  };
}

const RELEASED = { claim_until: '', claim_id: '', first_attempt_at: iso(), retry_count: 1 };
const details = (changes = {}) =>
  JSON.stringify({
    attempt: 1,
    at: ENDED.toISOString(),
    type: 'SERVER_OVERLOAD',
    code: '503',
    message: 'overloaded',
    ...changes,
  });
const SAID = {
  response_code: '503',
  error_type: 'SERVER_OVERLOAD',
  error_message: 'overloaded',
  error_details: details(),
};

describe('the settlement of an accepted attempt', () => {
  const delivered = { ...RELEASED, send_status: 'SUCCESS', sent_at: ENDED.toISOString() };
  const said = { response_code: '200', response_message: 'OK' };

  it('takes the row out of the index, and keeps the counters as claimed', () => {
    expect(settlementOf(ended({ status: 'SUCCESS' }, accepted))).toStrictEqual({
      set: { ...delivered, ...said },
      remove: ['work_queue'],
    });
  });

  it('empties the description of an earlier failure', () => {
    const row = claimed({ error_details: details() });
    expect(settlementOf(ended({ status: 'SUCCESS' }, accepted, row))).toEqual({
      set: { ...delivered, ...said, error_details: '' },
      remove: ['work_queue'],
    });
  });

  it('leaves nothing of an earlier answer', () => {
    const earlier = { response_code: '404', response_message: 'gone', error_message: 'the endpoint answered 404' };
    const { set } = settlementOf(ended({ status: 'SUCCESS' }, { ok: true, response_code: '204' }, claimed(earlier)));
    expect(set).toEqual({ ...delivered, response_code: '204', response_message: '', error_message: '' });
  });

  it('that an operator forced on a dead row removes what only a dead row has', () => {
    const dead = { failure_reason: 'MAX_RETRIES', dead_message_id: 'message-0', dead_run_id: 'sweep-1' } as const;
    const attempt = ended({ status: 'SUCCESS' }, accepted, claimed({ ...dead, give_up: 'MAX_RETRIES' }));
    expect(settlementOf(attempt)).toEqual({
      set: { ...delivered, ...said },
      remove: ['work_queue', 'give_up', 'failure_reason', 'dead_message_id', 'dead_run_id'],
    });
  });

  it('is the time of the send, not of a delivery that an event reported before', () => {
    const row = claimed({ delivered_at: iso(-500) });
    expect(settlementOf(ended({ status: 'SUCCESS' }, accepted, row)).set.sent_at).toBe(ENDED.toISOString());
  });

  it('counts no attempt that was not made, because an event had shown that an earlier one arrived', () => {
    const row = claimed({ delivered_at: iso(-500) });
    expect(settlementOf(ended({ status: 'SUCCESS' }, undefined, row))).toEqual({
      set: { ...delivered, sent_at: iso(-500), send_attempts: 1, attempts_left: 5, retry_count: 0 },
      remove: ['work_queue'],
    });
  });

  it('gives back no attempt that was not counted', () => {
    const attempt = ended({ status: 'SUCCESS' }, undefined, claimed(), { counted: false });
    expect(settlementOf(attempt).set).not.toHaveProperty('send_attempts');
  });

  it('stays in the index, with all that its record says, while RetryLog refuses the record', () => {
    const record = {
      retry_log_id: retryLogId('log-1', 1),
      original_log_id: 'log-1',
      retry_attempt: 1,
      tenant_id: 'tenant-1',
      channel: 'webhook',
      retry_at: iso(),
      retry_status: 'SUCCESS',
      duration_ms: 20,
      trigger: 'sweep',
      requested_by: 'schedule',
      run_id: 'sweep-7',
    } as const;
    const row = claimed({ give_up: 'MAX_RETRIES' });
    expect(settlementWithPendingRecord(ended({ status: 'SUCCESS' }, accepted, row), record)).toEqual({
      set: {
        ...delivered,
        ...said,
        work_at: ENDED.toISOString(),
        record_due: JSON.stringify({
          retry_attempt: 1,
          retry_at: iso(),
          duration_ms: 20,
          trigger: 'sweep',
          requested_by: 'schedule',
          run_id: 'sweep-7',
        }),
      },
      remove: ['give_up'],
    });
  });
});

describe('the settlement of an attempt that is retried', () => {
  const due = (ms: number) => ({ send_status: 'RETRY', next_retry_at: iso(ms), work_at: iso(ms) });

  it.each([
    ['with a note of the message that waits for a near retry', 10 * MINUTE, true, { queued_for: '10:40:00' }],
    ['without one if SQS refused the message', 10 * MINUTE, false, {}],
    ['without one if SQS cannot delay the message until then', 16 * MINUTE, true, {}],
  ])('moves the row to its next time, %s', (_, ms, queued, note) => {
    expect(settlementOf(ended(retryAt(ms), refused), { queued })).toEqual({
      set: { ...RELEASED, ...SAID, ...due(ms), ...note },
      remove: [],
    });
  });

  it.each([
    ['with a note that a look ahead will queue its message', 20 * MINUTE, { queued_for: '~105000' }],
    ['without one if the row may enter the index after that look', 15 * MINUTE + 4_000, {}],
  ])('moves an urgent row to its next time, %s', (_, ms, note) => {
    const { set } = settlementOf(ended(retryAt(ms), refused, claimed({ priority: 'urgent' })));
    expect(set).toEqual({ ...RELEASED, ...SAID, ...due(ms), ...note });
  });

  it('gives the attempt back that uses up no retry', () => {
    expect(settlementOf(ended(retryAt(20 * MINUTE, false), refused))).toEqual({
      set: { ...RELEASED, ...SAID, ...due(20 * MINUTE), send_attempts: 1, attempts_left: 5, retry_count: 0 },
      remove: [],
    });
  });

  it('gives it back from the retries made, too', () => {
    const row = claimed({ send_attempts: 4, attempts_left: 2, last_attempt: 3 });
    expect(settlementOf(ended(retryAt(20 * MINUTE, false), refused, row)).set).toEqual({
      ...RELEASED,
      ...SAID,
      ...due(20 * MINUTE),
      error_details: details({ attempt: 3 }),
      send_attempts: 3,
      attempts_left: 3,
      retry_count: 2,
    });
  });

  it('gives none back if the claim counted none', () => {
    const attempt = ended(retryAt(20 * MINUTE, false), refused, claimed(), { counted: false });
    expect(settlementOf(attempt).set).not.toHaveProperty('attempts_left');
  });

  it('keeps what an earlier attempt said when a breaker held this one', () => {
    const row = claimed({ error_details: details({ attempt: 0 }) });
    const attempt = ended(retryAt(20 * MINUTE, false), undefined, row, { held_by: { breaker: 'webhook#IC1' } });
    expect(settlementOf(attempt)).toEqual({
      set: {
        ...RELEASED,
        ...due(20 * MINUTE),
        error_type: 'SERVER_OVERLOAD',
        send_attempts: 1,
        attempts_left: 5,
        retry_count: 0,
      },
      remove: [],
    });
  });

  it('says what the receiver said, once', () => {
    const answer = (message: string): SendResult => ({ ...refused, message, details: { text: 'try at noon' } });
    const { set } = settlementOf(ended(retryAt(MINUTE), answer('the endpoint answered 503')));
    expect(set).toMatchObject({ response_code: '503', response_message: 'try at noon' });
    const { set: again } = settlementOf(ended(retryAt(MINUTE), answer('SES answered 503: try at noon')));
    expect(again).not.toHaveProperty('response_message');
  });

  it('leaves nothing of an earlier answer when there was none', () => {
    const timeout: SendResult = { ok: false, error_type: 'NETWORK_TIMEOUT', message: 'no answer within 10 s' };
    const row = claimed({ response_code: '503', response_message: 'busy' });
    expect(settlementOf(ended(retryAt(MINUTE), timeout, row)).set).toMatchObject({
      response_code: '',
      response_message: '',
      error_message: 'no answer within 10 s',
    });
  });

  it('removes a give_up that does not hold any more', () => {
    expect(settlementOf(ended(retryAt(20 * MINUTE), refused, claimed({ give_up: 'EXPIRED' }))).remove).toEqual([
      'give_up',
    ]);
  });

  it('shortens code and texts', () => {
    const long = { ...refused, response_code: '5'.repeat(30), message: 'x'.repeat(300) };
    const { set } = settlementOf(ended(retryAt(20 * MINUTE), long));
    expect(set.response_code).toBe(`${'5'.repeat(19)}…`);
    expect(set.error_message).toBe(`${'x'.repeat(99)}…`);
    expect(JSON.parse(set.error_details ?? '')).toEqual(
      JSON.parse(details({ code: `${'5'.repeat(19)}…`, message: `${'x'.repeat(99)}…` })),
    );
  });

  it('leaves out first what other columns say, when the row has no room, and at last everything', () => {
    const sized = (bytes: number, changes = {}) =>
      settlementOf(ended(retryAt(20 * MINUTE), refused, claimed({ notification_id: 'n'.repeat(bytes), ...changes })));
    const found = Array.from({ length: 700 }, (_, bytes) => sized(bytes).set.error_details);
    expect([...new Set(found.map((json) => Object.keys(JSON.parse(json ?? '{}')).join()))]).toEqual([
      'attempt,at,type,code,message',
      'attempt,at,type,code',
      'attempt,at,type',
      'attempt,at,code',
      'attempt,at',
      'attempt,type',
      'attempt,code',
      'attempt',
      '',
    ]);
    const full = found.indexOf(undefined);
    expect(sized(full, { error_details: details({ attempt: 0 }) }).set.error_details).toBe('');
  });
});

describe('the settlement of an attempt after which the notification is given up', () => {
  it('moves the row to the dead part of the index, with the message that goes to the DLQ', () => {
    const { claim_until: _, ...released } = RELEASED;
    expect(settlementOf(ended(failedBecause('MAX_RETRIES', 'SERVER_OVERLOAD'), refused))).toEqual({
      set: {
        ...released,
        ...SAID,
        send_status: 'FAILED',
        failure_reason: 'MAX_RETRIES',
        work_queue: workQueueOf('dead', 'normal', 'log-1'),
        work_at: ENDED.toISOString(),
        dead_message_id: 'message-7',
        dead_run_id: 'sweep-7',
        dead_sent_at: iso(),
      },
      remove: ['claim_until'],
    });
  });

  it('only takes the row out of the index when nothing can be redriven', () => {
    const row = claimed({ give_up: 'INVALID_RECIPIENT' });
    expect(settlementOf(ended(failedBecause('INVALID_RECIPIENT', 'INVALID_RECIPIENT'), undefined, row))).toEqual({
      set: {
        ...RELEASED,
        error_type: 'INVALID_RECIPIENT',
        send_status: 'FAILED',
        failure_reason: 'INVALID_RECIPIENT',
        send_attempts: 1,
        attempts_left: 5,
        retry_count: 0,
      },
      remove: ['work_queue', 'give_up'],
    });
  });

  it('names the successor, and drops the dead letter that an operator sent back', () => {
    const verdict = {
      ...failedBecause('MAX_RETRIES', 'UNKNOWN'),
      dead_letter: false,
      successor_log_id: 'log-1-fallback',
    };
    const row = claimed({ failure_reason: 'MAX_RETRIES', dead_message_id: 'message-0', dead_run_id: 'sweep-1' });
    expect(settlementOf(ended(verdict, { ...refused, error_type: 'UNKNOWN' }, row))).toEqual({
      set: {
        ...RELEASED,
        ...SAID,
        error_type: 'UNKNOWN',
        error_details: details({ type: 'UNKNOWN' }),
        send_status: 'FAILED',
        failure_reason: 'MAX_RETRIES',
        successor_log_id: 'log-1-fallback',
      },
      remove: ['work_queue', 'dead_message_id', 'dead_run_id'],
    });
  });
});
