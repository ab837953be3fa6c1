import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffDelay } from '../../../../src/core/delivery/verdict.ts';
import { ERROR_TYPES, policyOf } from '../../../../src/core/model/error-types.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';

const MINUTE = 60_000;
const lowest = () => 0;
const highest = () => 1 - Number.EPSILON;

describe('the delay before the next attempt', () => {
  it.each([
    [0, 5, 10],
    [1, 10, 20],
    [2, 20, 40],
    [3, 40, 80],
    [4, 80, 160],
  ])('after %i retries is between %i and %i minutes, as in the specification', (retries_made, from, to) => {
    const input = { error_type: 'NETWORK_TIMEOUT', retries_made } as const;
    expect(backoffDelay(input, { policy: DEFAULT_RETRY_POLICY, random: lowest })).toBe(from * MINUTE);
    expect(backoffDelay(input, { policy: DEFAULT_RETRY_POLICY, random: highest })).toBeCloseTo(to * MINUTE, -1);
  });

  it('is twice as long when the server is overloaded', () => {
    const input = { error_type: 'SERVER_OVERLOAD', retries_made: 0 } as const;
    expect(backoffDelay(input, { policy: DEFAULT_RETRY_POLICY, random: lowest })).toBe(10 * MINUTE);
  });

  it('is never shorter than the wait that the provider asked for', () => {
    const input = { error_type: 'RATE_LIMITED', retries_made: 0, retry_after_ms: 30 * MINUTE } as const;
    expect(backoffDelay(input, { policy: DEFAULT_RETRY_POLICY, random: lowest })).toBe(30 * MINUTE);
  });

  it('lies in [d, 2d) for any error, count and draw, unless the provider asked for a longer wait', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ERROR_TYPES),
        fc.nat({ max: 40 }),
        fc.option(fc.nat({ max: 10 ** 8 }), { nil: undefined }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: 10 ** 7 }),
        (error_type, retries_made, retry_after_ms, draw, base_interval_ms) => {
          const policy = { ...DEFAULT_RETRY_POLICY, base_interval_ms };
          const asked = retry_after_ms === undefined ? {} : { retry_after_ms };
          const delay = backoffDelay({ error_type, retries_made, ...asked }, { policy, random: () => draw });
          const d = base_interval_ms * 2 ** Math.min(retries_made, 20) * policyOf(error_type).backoff_factor;
          expect(delay).toBeGreaterThanOrEqual(Math.max(d, retry_after_ms ?? 0));
          expect(delay < 2 * d || delay === retry_after_ms).toBe(true);
          expect(Number.isInteger(delay)).toBe(true);
        },
      ),
    );
  });
});
