import { describe, expect, it } from 'vitest';
import { lookaheadSchedule, ScheduleError, sweepIntervalSeconds } from '../../../lib/config/schedule-expression.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the pause between two sweeps', () => {
  it.each([
    ['cron(30 * * * ? *)', HOUR],
    ['cron(0/15 * * * ? *)', 15 * MINUTE],
    ['cron(* * * * ? *)', MINUTE],
    ['cron(0 9 * * ? *)', DAY],
    ['cron(0 9 ? * SUN *)', 7 * DAY],
    ['cron(0 9 1 * ? *)', 31 * DAY],
    ['cron(0 9 ? * * 2030)', DAY],
    ['cron(0 9 ? * 2#1 2026-2199)', 35 * DAY],
    ['rate(1 minute)', MINUTE],
    ['rate(30 minutes)', 30 * MINUTE],
    ['rate(1 hour)', HOUR],
    ['rate(2 days)', 2 * DAY],
  ])('of %s is %d seconds', (expression, seconds) => expect(sweepIntervalSeconds(expression)).toBe(seconds));

  it.each([
    ['over the night', 'cron(0 9-17 * * ? *)', 16 * HOUR],
    ['over the weekend', 'cron(30 9-17 ? * MON-FRI *)', 64 * HOUR],
    ['over the weekend, Sunday being day 1', 'cron(30 9-17 ? * 2-6 *)', 64 * HOUR],
    ['from Tuesday, day 3, to Monday', 'cron(0 9 ? * MON,3 *)', 6 * DAY],
    ['within a day', 'cron(0 0,1,23 * * ? *)', 22 * HOUR],
  ])('is the longest of an uneven schedule: %s', (_, expression, seconds) => {
    expect(sweepIntervalSeconds(expression)).toBe(seconds);
  });
});

it.each([
  ['cron(30 * * * ? *)', 'cron(0,15,45 * * * ? *)'],
  ['cron(7 * * * ? *)', 'cron(22,37,52 * * * ? *)'],
  ['cron(0 9 * * ? *)', 'cron(0/15 * * * ? *)'],
  ['rate(30 minutes)', 'cron(0/15 * * * ? *)'],
  ['rate(15 minutes)', undefined],
  ['cron(0/5 * * * ? *)', undefined],
])('the look ahead between two sweeps of %s is %s', (sweeps, expected) => {
  expect(lookaheadSchedule(sweeps)).toBe(expected);
  if (expected !== undefined) expect(sweepIntervalSeconds(expected)).toBeLessThanOrEqual(30 * MINUTE);
});

it.each([
  ['every hour', 'must be cron(…) or rate(…)'],
  ['cron()', 'must be cron(…) or rate(…)'],
  ['cron(30 * * * *)', 'must have six fields'],
  ['cron(30 * * * * *)', '? for exactly one of the days'],
  ['cron(30 * ? * ? *)', '? for exactly one of the days'],
  ['cron(70 * * * ? *)', 'is not a cron expression: cron(70 * * * ? *)'],
  ['cron(? * * * ? *)', 'EventBridge takes'],
  ['cron(0 9 * ? ? *)', 'EventBridge takes'],
  ['cron(0 9 * * ? ?)', 'EventBridge takes'],
  ['cron(/15 * * * ? *)', 'EventBridge takes'],
  ['cron(0 9 ? * MON/2 *)', 'EventBridge takes'],
  ['cron(0 9 ? * 8 *)', 'EventBridge takes'],
  ['cron(0 9 ? * 2#1,3#1 *)', 'EventBridge takes'],
  ['cron(0 9 * * ? 2200)', 'EventBridge takes'],
  ['cron(0 9 1 1 ? 2020)', 'never fires'],
  ['cron(0 9 1 1 ? 2030)', 'fires only once'],
  ['rate(1 hours)', 'must be rate(1 minute), rate(2 minutes)'],
  ['rate(2 hour)', 'must be rate(1 minute), rate(2 minutes)'],
  ['rate(0 minutes)', 'must be rate(1 minute), rate(2 minutes)'],
  ['rate(30 seconds)', 'must be rate(1 minute), rate(2 minutes)'],
])('a schedule that EventBridge would refuse %s is refused with what would be right', (expression, message) => {
  expect(() => sweepIntervalSeconds(expression)).toThrow(ScheduleError);
  expect(() => sweepIntervalSeconds(expression)).toThrow(message);
});
