import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deadlineOf, heldVerdict, judge } from '../../../src/core/delivery/verdict.ts';
import { PRIORITIES } from '../../../src/core/model/channels.ts';
import { ERROR_POLICY, ERROR_TYPES, type ProviderErrorType, policyOf } from '../../../src/core/model/error-types.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

const HOUR = 3_600_000;
const first_attempt_at = iso();
const refused = (error_type: ProviderErrorType, more = {}) =>
  ({ ok: false, error_type, message: 'no', ...more }) as const;
const RULES = { policy: DEFAULT_RETRY_POLICY, random: () => 0 };
const providerTypes = ERROR_TYPES.filter((type) => policyOf(type).class !== 'exhausted') as ProviderErrorType[];

describe('the verdict on an attempt', () => {
  it('is success when the provider accepted', () => {
    const verdict = judge({ ok: true, response_code: '200' }, { row: dueRow(), first_attempt_at, now: T0 }, RULES);
    expect(verdict).toEqual({ status: 'SUCCESS' });
  });

  it.each([
    ['INVALID_RECIPIENT', false],
    ['AUTH_FAILED', true],
    ['FORMAT_ERROR', true],
    ['PERMISSION_DENIED', true],
  ] as const)('of a permanent %s stops at once; dead letter: %s', (type, dead_letter) => {
    const verdict = judge(refused(type), { row: dueRow(), first_attempt_at, now: T0 }, RULES);
    expect(verdict).toEqual({ status: 'FAILED', error_type: type, failure_reason: type, dead_letter });
  });

  it('of a transient error with no attempt left is MAX_RETRIES, and keeps the last error', () => {
    const row = dueRow({ attempts_left: 0, send_attempts: 6 });
    expect(judge(refused('SERVER_OVERLOAD'), { row, first_attempt_at, now: T0 }, RULES)).toEqual({
      status: 'FAILED',
      error_type: 'SERVER_OVERLOAD',
      failure_reason: 'MAX_RETRIES',
      dead_letter: true,
    });
  });

  it('of a rate limit uses up no retry, not even the last one', () => {
    const row = dueRow({ attempts_left: 0, send_attempts: 6 });
    const verdict = judge(refused('RATE_LIMITED', { retry_after_ms: 1000 }), { row, first_attempt_at, now: T0 }, RULES);
    expect(verdict).toMatchObject({ status: 'RETRY', counted: false });
  });

  it.each([
    [{ retry_after_ms: 3_000 }, 3_000],
    [{}, 1_000],
  ])('of a rate limit of a receiver with a budget is retried as soon as the limit lifts: %o', (told, wait) => {
    const attempt = { row: dueRow(), first_attempt_at, now: T0 };
    const next_retry_at = iso(wait);
    expect(judge(refused('RATE_LIMITED', told), { ...attempt, paced: true }, RULES)).toMatchObject({ next_retry_at });
    expect(judge(refused('RATE_LIMITED', told), attempt, RULES)).not.toMatchObject({ next_retry_at });
    expect(judge(refused('UNKNOWN', told), { ...attempt, paced: true }, RULES)).not.toMatchObject({ next_retry_at });
  });

  it('of a rate limit that lifts after the deadline is EXPIRED', () => {
    const attempt = { row: dueRow({ priority: 'info' }), first_attempt_at, now: at(2 * HOUR) };
    const verdict = judge(refused('RATE_LIMITED', { retry_after_ms: 2 * HOUR }), attempt, RULES);
    expect(verdict).toMatchObject({ status: 'FAILED', failure_reason: 'EXPIRED', dead_letter: true });
  });

  it('of a forced attempt on a dead notification never plans another retry', () => {
    const row = dueRow({ failure_reason: 'AUTH_FAILED', attempts_left: 3 });
    const attempt = { row, first_attempt_at, now: T0, forced_dead: true };
    expect(judge(refused('UNKNOWN'), attempt, RULES)).toMatchObject({
      status: 'FAILED',
      failure_reason: 'AUTH_FAILED',
    });
  });

  it('never schedules a retry past the deadline or before the backoff is over, and never beyond the limit', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...providerTypes),
        fc.constantFrom(...PRIORITIES),
        fc.integer({ min: 1, max: 11 }),
        fc.nat({ max: 10 }),
        fc.nat({ max: 25 * HOUR }),
        fc.option(fc.nat({ max: 30 * HOUR }), { nil: undefined }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (type, priority, send_attempts, attempts_left, elapsed, retry_after_ms, draw) => {
          const row = dueRow({ priority, send_attempts, attempts_left });
          const now = at(elapsed);
          const result = refused(type, retry_after_ms === undefined ? {} : { retry_after_ms });
          const verdict = judge(
            result,
            { row, first_attempt_at, now },
            { policy: DEFAULT_RETRY_POLICY, random: () => draw },
          );
          if (verdict.status === 'RETRY') {
            const wait = Date.parse(verdict.next_retry_at) - now.getTime();
            expect(Date.parse(verdict.next_retry_at)).toBeLessThanOrEqual(
              deadlineOf(first_attempt_at, row, DEFAULT_RETRY_POLICY),
            );
            expect(wait).toBeGreaterThanOrEqual(retry_after_ms ?? 0);
            expect(wait).toBeGreaterThanOrEqual(DEFAULT_RETRY_POLICY.base_interval_ms);
            expect(attempts_left > 0 || !verdict.counted).toBe(true);
            expect(policyOf(type).class).toBe('transient');
          } else {
            expect(verdict.status).toBe('FAILED');
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('the deadline', () => {
  const attempt = { row: dueRow({ priority: 'info' }), first_attempt_at, now: T0 };

  it('is the last moment of a retry', () => {
    const wait = (retry_after_ms: number) => judge(refused('RATE_LIMITED', { retry_after_ms }), attempt, RULES);
    expect(wait(3 * HOUR)).toEqual({
      status: 'RETRY',
      error_type: 'RATE_LIMITED',
      next_retry_at: iso(3 * HOUR),
      counted: false,
    });
    expect(wait(3 * HOUR + 1)).toMatchObject({ status: 'FAILED', failure_reason: 'EXPIRED' });
  });

  it.each([
    ['until it may be sent', HOUR, 0, HOUR],
    ['until the deadline itself', 3 * HOUR, 0, 3 * HOUR],
    ['no longer than until a minute before the deadline', 3 * HOUR + 1, 0, 3 * HOUR - 60_000],
    ['until an attempt is worth a try, if that is later', 4 * HOUR, 3 * HOUR, 3 * HOUR],
  ])('is no reason to give up what is held: it waits %s', (_, until, soonest, expected) => {
    const held = { until: iso(until), soonest: iso(soonest), error_type: 'SERVER_OVERLOAD' } as const;
    expect(heldVerdict(held, attempt, DEFAULT_RETRY_POLICY)).toEqual({
      status: 'RETRY',
      error_type: 'SERVER_OVERLOAD',
      next_retry_at: iso(expected),
      counted: false,
    });
  });

  it.each([{ soonest: iso(3 * HOUR + 1) }, {}])('ends what is held until after it: %j', (soonest) => {
    const held = { until: iso(3 * HOUR + 1), ...soonest, error_type: 'SERVER_OVERLOAD' } as const;
    expect(heldVerdict(held, attempt, DEFAULT_RETRY_POLICY)).toEqual({
      status: 'FAILED',
      error_type: 'SERVER_OVERLOAD',
      failure_reason: 'EXPIRED',
      dead_letter: true,
    });
  });
});

it('the error policies name for every type what a person should do', () => {
  for (const [type, policy] of Object.entries(ERROR_POLICY)) expect(policy.remedy, type).toMatch(/\w{3,}.*\./);
});
