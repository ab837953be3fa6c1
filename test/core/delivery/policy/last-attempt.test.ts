import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deadlineOf, judge, lastAttemptIn } from '../../../../src/core/delivery/verdict.ts';
import { PRIORITIES, type Priority } from '../../../../src/core/model/channels.ts';
import type { ProviderErrorType } from '../../../../src/core/model/error-types.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../../src/core/model/retry-policy.ts';
import { dueRow, iso, T0 } from '../../../support/rows.ts';

const LEAST = 0;
const MOST = 1 - Number.EPSILON;

interface Course {
  readonly priority: Priority;
  readonly error_type?: ProviderErrorType;
  readonly draws: () => number;
  readonly policy?: RetryPolicy;
  readonly retry_after_ms?: number;
}

/** When each attempt of a notification is made whose receiver refuses every one, and why it ends. */
function attemptsOf({ priority, error_type = 'UNKNOWN', draws, policy = DEFAULT_RETRY_POLICY, ...told }: Course) {
  const { max_retries } = policy.priorities[priority];
  const times = [T0.getTime()];
  for (;;) {
    const row = dueRow({ priority, send_attempts: times.length, attempts_left: max_retries + 1 - times.length });
    const now = new Date(times.at(-1) ?? 0);
    const refused = { ok: false, error_type, message: 'no', ...told } as const;
    const verdict = judge(refused, { row, first_attempt_at: iso(), now }, { policy, random: draws });
    if (verdict.status !== 'RETRY') {
      const deadline = deadlineOf(iso(), row, policy);
      return { times, deadline, reason: verdict.status === 'FAILED' ? verdict.failure_reason : verdict.status };
    }
    times.push(Date.parse(verdict.next_retry_at));
  }
}

describe('the last attempt before the deadline', () => {
  // docs/decisions/delivery/attempts-windows-and-limits.md says how many retries each priority reaches.
  it.each([
    ['urgent', 'UNKNOWN', [9, 8, 8]],
    ['urgent', 'SERVER_OVERLOAD', [8, 7, 7]],
    ['important', 'UNKNOWN', [7, 7, 7]],
    ['important', 'SERVER_OVERLOAD', [7, 6, 6]],
    ['normal', 'UNKNOWN', [5, 5, 5]],
    ['normal', 'SERVER_OVERLOAD', [5, 5, 5]],
    ['info', 'UNKNOWN', [3, 3, 3]],
    ['info', 'SERVER_OVERLOAD', [3, 3, 3]],
  ] as const)(
    '%s reaches after %s, by the least, the middle and the longest delays, %j retries',
    (priority, error_type, retries) => {
      const courses = [LEAST, 0.5, MOST].map((draw) => attemptsOf({ priority, error_type, draws: () => draw }));

      expect(courses.map(({ times }) => times.length - 1)).toEqual(retries);
      for (const { times, deadline, reason } of courses) {
        if (reason !== 'EXPIRED') continue;
        expect(deadline - (times.at(-1) ?? 0)).toBeGreaterThanOrEqual(60_000);
        expect(deadline - (times.at(-1) ?? 0)).toBeLessThanOrEqual(DEFAULT_RETRY_POLICY.base_interval_ms);
      }
    },
  );

  it('ends whatever its window cut short, whatever is drawn: at most one interval before the deadline, and once', () => {
    let cut = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...PRIORITIES),
        fc.constantFrom('UNKNOWN', 'SERVER_OVERLOAD', 'NETWORK_TIMEOUT'),
        fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
        fc.integer({ min: 1_000, max: 20 * 60_000 }),
        (priority, error_type, drawn, base_interval_ms) => {
          const policy = { ...DEFAULT_RETRY_POLICY, base_interval_ms };
          const course = attemptsOf({ priority, error_type, draws: () => drawn.next().value ?? 0, policy });
          const [before = 0, last = 0] = course.times.slice(-2);

          expect(last).toBeLessThanOrEqual(course.deadline);
          expect(last - before).toBeGreaterThanOrEqual(base_interval_ms);
          if (course.reason !== 'EXPIRED') return;
          cut += 1;
          const margin = course.deadline - last;
          expect(margin).toBeGreaterThanOrEqual(Math.min(60_000, base_interval_ms / 5));
          expect(margin).toBeLessThanOrEqual(base_interval_ms);
        },
      ),
    );
    expect(cut).toBeGreaterThan(5);
  });

  it.each([
    ['fits exactly once after the shortest wait', 360_000, {}, 300_000],
    ['does not fit a millisecond later', 359_999, {}, undefined],
    ['is not sooner than the provider asked for', 600_000, { retry_after_ms: 540_000 }, 540_000],
    ['does not come where the provider asked for more than is left', 600_000, { retry_after_ms: 540_001 }, undefined],
  ])('%s', (_, remaining, asked, expected) => {
    expect(lastAttemptIn(remaining, asked, { policy: DEFAULT_RETRY_POLICY, random: () => LEAST })).toBe(expected);
    const latest = lastAttemptIn(remaining, asked, { policy: DEFAULT_RETRY_POLICY, random: () => MOST });
    if (expected === undefined) expect(latest).toBeUndefined();
    else expect(latest).toBe(expected);
  });
});
