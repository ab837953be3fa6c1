import { describe, expect, it } from 'vitest';
import { claimForSend } from '../../../src/core/delivery/transitions/claims.ts';
import { laneMessage } from '../../../src/core/intake/accept.ts';
import { attemptedAt, isRecordOf } from '../../../src/core/intake/failed-send.ts';
import { BODY_LIMITS, bodyFault, scheduleFault } from '../../../src/core/intake/notification-request.ts';
import { requireOwnRow } from '../../../src/core/intake/public-state.ts';
import { CHANNELS } from '../../../src/core/model/channels.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { Problem, problemDocument, problemType, unavailable } from '../../../src/core/model/problem.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { at, iso, T0 } from '../../support/rows.ts';

describe('the longest body', () => {
  it('is the one of its channel', () => {
    expect(BODY_LIMITS).toEqual({
      email: { max: 262_144, unit: 'bytes', because: expect.stringContaining('400 KB') },
      slack: { max: 40_000, unit: 'characters', because: expect.stringContaining('Slack') },
      teams: { max: 27_648, unit: 'bytes', because: expect.stringContaining('Teams') },
      webhook: { max: 262_144, unit: 'bytes', because: expect.stringContaining('400 KB') },
    });
  });

  /** Characters of one to four bytes in UTF-8, at the borders between the lengths. */
  const widths = ['a', '\x7f', '\x80', '\u07ff', '\u0800', '\uffff', '\u{10000}', '😀'];

  it.each(CHANNELS)('of %s is counted in its unit, exactly', (channel) => {
    const { max, unit, because } = BODY_LIMITS[channel];
    for (const character of widths) {
      const size = unit === 'characters' ? 1 : Buffer.byteLength(character);
      const longest = character.repeat(Math.floor(max / size)) + 'a'.repeat(max % size);
      expect([bodyFault(channel, longest), bodyFault(channel, longest, 'fallback')]).toEqual([undefined, undefined]);
      expect(bodyFault(channel, `${longest}a`)).toEqual({
        path: 'body',
        rule: `max_${unit}`,
        message: `must have at most ${max} ${unit}, the limit ${because}`,
      });
      expect(bodyFault(channel, `${longest}a`, 'fallback')).toEqual({
        path: 'fallback.channel',
        rule: `max_${unit}`,
        message: `must be a channel for this body: ${channel} takes at most ${max} ${unit}, the limit ${because}`,
      });
    }
  });
});

describe('a scheduled time', () => {
  const fault = (scheduled_at: Date | undefined) =>
    scheduleFault(
      { priority: 'urgent', ...(scheduled_at && { scheduled_at: scheduled_at.toISOString() }) },
      T0,
      DEFAULT_RETRY_POLICY,
    );
  const DAY = 86_400_000;

  it('may be absent, at most a retry window ago, and at most a year ahead', () => {
    for (const given of [undefined, T0, at(-DAY), at(365 * DAY)]) expect(fault(given)).toBeUndefined();
  });

  it('is refused beyond that, with the rule', () => {
    const path = 'scheduled_at';
    expect(fault(at(-DAY - 1))).toEqual({
      path,
      rule: 'expired',
      message: 'must not be more than 24 h ago, the retry window of the priority urgent',
    });
    expect(fault(at(365 * DAY + 1))).toEqual({
      path,
      rule: 'max_days_ahead',
      message: 'must be within 365 days from now',
    });
  });
});

describe('a row that a tenant asks for', () => {
  const row = { tenant_id: 'T1' };
  const answer = (given: object | undefined) => {
    try {
      return requireOwnRow(given, 'T1', T0);
    } catch (error) {
      return error instanceof Problem ? problemDocument(error) : error;
    }
  };
  const none = {
    type: 'urn:notification-retry:problem:not-found',
    title: 'Not found',
    status: 404,
    detail: 'The notification does not exist.',
  };

  it('is answered if it is the tenant’s and has not expired', () => {
    const lasting = { ...row, expires_at: T0.getTime() / 1000 + 1 };
    expect([answer(row), answer(lasting)]).toEqual([row, lasting]);
  });

  it.each([
    ['missing', undefined],
    ['of another tenant', { tenant_id: 'T2' }],
    ['of nobody', {}],
    ['expired', { ...row, expires_at: T0.getTime() / 1000 - 1 }],
  ])('is not found if it is %s', (_, given) => expect(answer(given)).toEqual(none));
});

describe('the message of the intake', () => {
  const routing = { log_id: 'NL-1', tenant_id: 'T1', channel: 'webhook', priority: 'normal' } as const;
  const message = (due: Date) => laneMessage(routing, due.toISOString(), 'id-1', T0);

  it.each([
    [-60_000, 0],
    [0, 0],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [900_000, 900],
  ])('for a row due in %i ms is delayed by %i s', (ms, delay_seconds) => {
    const { run_id } = message(T0)?.message ?? {};
    expect(run_id).toMatch(/^intake-.*id-1/);
    expect(message(at(ms))).toMatchObject({ delay_seconds, message: { log_id: 'NL-1', due: iso(ms), run_id } });
  });

  it('is left to a sweep if SQS cannot delay it for that long', () => expect(message(at(900_001))).toBeUndefined());
});

it('a problem shows its errors if it has some, and its type never changes', () => {
  expect(problemType('unavailable')).toBe('urn:notification-retry:problem:unavailable');
  const errors = [{ path: 'body', rule: 'required', message: 'is missing' }];
  expect(problemDocument(new Problem('invalid-request', 'No.', { errors }))).toEqual({
    type: 'urn:notification-retry:problem:invalid-request',
    title: 'The request breaks rules of the API',
    status: 400,
    detail: 'No.',
    errors,
  });
  expect(problemDocument(unavailable())).not.toHaveProperty('errors');
  expect(unavailable()).toMatchObject({
    message: 'Storage did not answer. Send the same request again with the same key.',
    extras: { retry_after_seconds: 2 },
  });
});

describe('a producer’s own attempt', () => {
  const attempted_at = iso(-1_000);
  const send = { error_type: 'UNKNOWN', attempted_at } as const;
  const record = (error_details: string) => ({ error_details }) as RetryRecord;

  it('is recognised in a record by its time, as the producer gave it', () => {
    const own = JSON.stringify({ reported_by: 'producer', attempted_at });
    expect(isRecordOf(send, record(own))).toBe(true);
    expect(isRecordOf({ ...send, attempted_at: iso() }, record(own))).toBe(false);
    expect(isRecordOf(send, record(JSON.stringify({ reported_by: 'producer' })))).toBe(false);
    expect(isRecordOf({ error_type: 'UNKNOWN' }, record(JSON.stringify({ reported_by: 'producer' })))).toBe(false);
  });

  it('in the future counts as made now', () => {
    expect(attemptedAt(send, T0)).toEqual(at(-1_000));
    expect(attemptedAt({ ...send, attempted_at: iso(1_000) }, T0)).toEqual(T0);
    expect(attemptedAt({ error_type: 'UNKNOWN' }, T0)).toEqual(T0);
  });

  it.each([
    [5, 3, 4],
    [0, 2, 0],
  ])('of a row with %i attempts left is counted as far as any are left', (attempts_left, send_attempts, left) => {
    const row = { attempts_left, send_attempts: 2, last_attempt: 1 } as NotificationRow;
    const claimed = {
      send_status: 'SENDING',
      claim_until: iso(-1_000),
      work_at: iso(),
      first_attempt_at: iso(-1_000),
      send_attempts,
      attempts_left: left,
      last_attempt: 2,
    };
    expect(claimForSend(row, at(-1_000), T0)).toEqual(claimed);
    const first_attempt_at = iso(-9_000);
    expect(claimForSend({ ...row, first_attempt_at }, at(-1_000), T0)).toEqual({ ...claimed, first_attempt_at });
  });
});
