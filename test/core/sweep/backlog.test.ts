import { describe, expect, it } from 'vitest';
import { CHANNELS } from '../../../src/core/model/channels.ts';
import { lanesInUse } from '../../../src/core/sweep/backlog.ts';
import { isBetweenSweeps, runOptionsOf, type SweepRequest } from '../../../src/core/sweep/sweep-request.ts';

async function asked(request: SweepRequest) {
  const lanes: string[] = [];
  const counts = await lanesInUse(request, {
    backlog: async (channel, lane) => lanes.push(`${channel}-${lane}`),
    send: async () => [],
  });
  return { lanes, counts: Object.fromEntries(counts) };
}

describe('the lanes whose messages a sweep counts', () => {
  it.each<[string, SweepRequest, readonly string[]]>([
    ['all of them', {}, CHANNELS.flatMap((channel) => [`${channel}-express`, `${channel}-standard`])],
    ['those of its channel', { channel: 'slack' }, ['slack-express', 'slack-standard']],
    ['the express ones, of an express run', { express_minutes: 5 }, CHANNELS.map((channel) => `${channel}-express`)],
    ['none, in a dry run', { dry_run: true }, []],
    ['none, for a look ahead', { ahead: true }, []],
    ['none, when it raises the limit', { max_retry_count: 9 }, []],
    ['none, when it forces', { force_retry: true }, []],
  ])('are %s', async (_, request, expected) => {
    const { lanes, counts } = await asked(request);
    expect(lanes).toEqual(expected);
    expect(counts).toEqual(Object.fromEntries(expected.map((lane, i) => [lane, i + 1])));
  });
});

describe('a request', () => {
  it.each<[SweepRequest, boolean]>([
    [{}, false],
    [{ ahead: false }, false],
    [{ ahead: true }, true],
    [{ express_minutes: 5 }, true],
  ])('%j is a run between two sweeps: %s', (request, expected) => {
    expect(isBetweenSweeps(request)).toBe(expected);
  });

  it.each<[SweepRequest, ReturnType<typeof runOptionsOf>]>([
    [{ channel: 'slack', force_retry: false }, undefined],
    [{ max_retry_count: 0 }, { max_retry_count: 0 }],
    [{ force_retry: true }, { force: true }],
    [
      { force_retry: true, max_retry_count: 3 },
      { force: true, max_retry_count: 3 },
    ],
  ])('%j puts into its messages: %j', (request, expected) => {
    expect(runOptionsOf(request)).toStrictEqual(expected);
  });
});
