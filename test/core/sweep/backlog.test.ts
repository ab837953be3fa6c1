import { describe, expect, it } from 'vitest';
import { CHANNELS, PRIORITIES, type Priority } from '../../../src/core/model/channels.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { dispatchOf, intervalsBetweenMessages, lanesInUse } from '../../../src/core/sweep/backlog.ts';
import { isBetweenSweeps, runOptionsOf, type SweepRequest } from '../../../src/core/sweep/sweep-run.ts';

async function asked(request: SweepRequest) {
  const lanes: string[] = [];
  const counts = await lanesInUse(request, {
    backlog: async (channel, lane) => lanes.push(`${channel}-${lane}`),
    send: async () => [],
  });
  return { lanes, counts: Object.fromEntries(counts) };
}

it.each<[string, SweepRequest, readonly string[]]>([
  ['all of them', {}, CHANNELS.flatMap((channel) => [`${channel}-express`, `${channel}-standard`])],
  ['those of its channel', { channel: 'slack' }, ['slack-express', 'slack-standard']],
  ['the express ones, of an express run', { express_minutes: 5 }, CHANNELS.map((channel) => `${channel}-express`)],
  ['none, in a dry run', { dry_run: true }, []],
  ['none, for a look ahead', { ahead: true }, []],
  ['none, when it raises the limit', { max_retry_count: 9 }, []],
  ['none, when it forces', { force_retry: true }, []],
])('the lanes whose messages a sweep counts are %s', async (_, request, expected) => {
  const { lanes, counts } = await asked(request);
  expect(lanes).toEqual(expected);
  expect(counts).toEqual(Object.fromEntries(expected.map((lane, i) => [lane, i + 1])));
});

describe('a request', () => {
  it.each<[SweepRequest, boolean]>([
    [{}, false],
    [{ ahead: false }, false],
    [{ ahead: true }, true],
    [{ express_minutes: 5 }, true],
  ])('%j is a run between two sweeps: %s', (request, expected) => expect(isBetweenSweeps(request)).toBe(expected));

  it.each<[SweepRequest, ReturnType<typeof runOptionsOf>]>([
    [{ channel: 'slack', force_retry: false }, undefined],
    [{ max_retry_count: 0 }, { max_retry_count: 0 }],
    [{ force_retry: true }, { force: true }],
    [
      { force_retry: true, max_retry_count: 3 },
      { force: true, max_retry_count: 3 },
    ],
  ])('%j puts into its messages: %j', (request, expected) => expect(runOptionsOf(request)).toStrictEqual(expected));
});

describe('a row in a busy lane', () => {
  const HOUR = 3_600_000;
  const START = Date.parse('2026-03-01T10:30:00.000Z');
  const policy = DEFAULT_RETRY_POLICY;
  const routing = { log_id: 'n', tenant_id: 't', channel: 'webhook' } as const;

  /** Hours after its due time at which sweeps send it. */
  function sentAt(priority: Priority, sweeps: readonly number[], interval = HOUR): number[] {
    const item = { ...routing, priority, work_at: new Date(START).toISOString() };
    return sweeps.filter((hours, i) => {
      const unmet = new Map([
        ['webhook-standard', 700],
        ['webhook-express', 700],
      ]);
      const lastSweep = START + (sweeps[i - 1] ?? hours - interval / HOUR) * HOUR;
      return dispatchOf(item, { unmet, now: START + hours * HOUR, lastSweep, interval, policy }) !== 'skip';
    });
  }

  it.each<[Priority, readonly number[]]>([
    ['urgent', [0.5, 3.5, 6.5, 9.5]],
    ['important', [0.5, 3.5, 6.5, 9.5]],
    ['normal', [0.5, 2.5, 4.5, 6.5, 8.5, 10.5]],
    ['info', [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5]],
  ])('is sent again, %s, after %j hours', (priority, expected) => {
    const hourly = Array.from({ length: 12 }, (_, i) => i + 0.5);
    expect(sentAt(priority, hourly)).toEqual(expected);
  });

  it('is sent again by a sweep that comes late, or after others that failed', () => {
    // The third hour ends between these two, which are more than an hour apart.
    expect(sentAt('urgent', [0.999, 1.999, 2.999, 4.001])).toEqual([0.999, 4.001]);
    expect(sentAt('urgent', [0.5, 1.5, 5.5, 6.2])).toEqual([0.5, 5.5, 6.2]);
    expect(sentAt('urgent', [0.5, 1.5, 5.5, 5.9])).toEqual([0.5, 5.5]);
  });

  it('is sent again by each sweep where few fit into its window', () => {
    for (const priority of PRIORITIES) expect(sentAt(priority, [1, 13, 25], 12 * HOUR)).toEqual([1, 13, 25]);
  });

  it.each([
    [24, 1, 3],
    [12, 1, 3],
    [6, 1, 2],
    [5.9, 1, 1],
    [3, 1, 1],
    [0.1, 1, 1],
    [24, 6, 1],
    [24, 0.25, 3],
  ])('with a window of %d hours and a sweep every %d: every %d intervals', (window, interval, expected) => {
    expect(intervalsBetweenMessages(window * HOUR, interval * HOUR)).toBe(expected);
  });
});
