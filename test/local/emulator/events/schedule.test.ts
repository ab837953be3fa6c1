import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  parseSchedule,
  secondsBetweenRuns,
  startSchedule,
  timedSchedules,
} from '../../../../src/local/emulator/events/schedule.ts';

const plan = { id: 'Rule', expression: '', timezone: 'UTC', functionName: 'f' };

describe('schedules', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date('2026-03-01T00:10:00Z') });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const fired = (expression: string, forMs: number, input?: object) => {
    const times: string[] = [];
    const events: string[] = [];
    const stop = startSchedule(
      { ...plan, ...(input && { input: { ...input } }) },
      parseSchedule(expression),
      (_, event) => {
        times.push(new Date().toISOString());
        events.push(event);
      },
    );
    vi.advanceTimersByTime(forMs);
    stop();
    vi.advanceTimersByTime(forMs);
    return { times, events };
  };

  it('runs every hour at minute 30, as the stack says, until it is stopped', () => {
    const { times } = fired('cron(30 * * * ? *)', 2 * 3_600_000);
    expect(times).toEqual(['2026-03-01T00:30:00.000Z', '2026-03-01T01:30:00.000Z']);
  });

  it('counts Sunday as day 1, as EventBridge does', () => {
    expect(fired('cron(0 12 ? * 1 *)', 13 * 3_600_000).times).toEqual(['2026-03-01T12:00:00.000Z']);
  });

  it('runs at a rate, also of seconds', () => {
    expect(fired('rate(5 minutes)', 15 * 60_000).times).toHaveLength(3);
    expect(fired('rate(10 seconds)', 30_000).times).toHaveLength(3);
  });

  it("gives EventBridge's event, or the rule's own input", () => {
    const { events } = fired('rate(1 minute)', 60_000);
    expect(events.map((event) => JSON.parse(event))).toMatchObject([
      { source: 'aws.events', 'detail-type': 'Scheduled Event', time: '2026-03-01T00:11:00Z', detail: {} },
    ]);
    expect(fired('rate(1 minute)', 60_000, { dry_run: true }).events).toEqual(['{"dry_run":true}']);
  });

  it.each([
    [
      'as the stack says',
      undefined,
      [{ pattern: '0 30 * * * * *' }, { pattern: '0 0,15,45 * * * * *' }, { everySeconds: 300 }],
    ],
    ['by another schedule', { everySeconds: 10 }, [{ everySeconds: 10 }, { everySeconds: 300 }]],
    ['not at all', 'off', [{ everySeconds: 300 }]],
  ] as const)(
    'runs the sweep %s, keeps the look-ahead only with the stack’s schedule, and leaves other schedules alone',
    (_, sweep, expected) => {
      const one = (name: string, environment: Record<string, string> = {}) => ({
        name,
        environment,
        codeDirectory: '',
        handler: '',
        timeoutSeconds: 1,
        memoryMegabytes: 1,
      });
      const functions = [one('sweep', { SWEEP_INTERVAL_SECONDS: '3600' }), one('look')];
      const schedules = [
        { ...plan, functionName: 'sweep', expression: 'cron(30 * * * ? *)' },
        { ...plan, functionName: 'sweep', expression: 'cron(0,15,45 * * * ? *)', input: { ahead: true } },
        { ...plan, functionName: 'look', expression: 'rate(5 minutes)' },
      ];
      expect(timedSchedules({ schedules, functions }, sweep).map(({ timing }) => timing)).toEqual(expected);
    },
  );

  it.each([
    ['cron(30 * * * ? *)', 3600],
    ['cron(0/15 * * * ? *)', 900],
    ['rate(10 seconds)', 10],
    ['rate(1 day)', 86_400],
  ])('knows the seconds between the runs of %s', (expression, seconds) => {
    expect(secondsBetweenRuns(parseSchedule(expression), new Date())).toBe(seconds);
  });

  it.each(['', 'hourly', 'rate(0 minutes)', 'rate(5 weeks)', 'cron(30 * * * ?)', 'cron(99 * * * ? *)', '30 * * * *'])(
    'refuses %j and says what would be right',
    (expression) => {
      expect(() => parseSchedule(expression)).toThrow(/write rate\(5 minutes\).*cron\(30 \* \* \* \? \*\)/);
    },
  );
});
