import { describe, expect, it } from 'vitest';
import { opened } from '../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY as policy } from '../../../src/core/breaker/breaker-policy.ts';
import { type DueIndex, workQueueOf } from '../../../src/core/model/work-index.ts';
import { monitorFigures, openByChannel } from '../../../src/core/monitor/monitor-figures.ts';
import { breakerStatus } from '../../../src/core/operator/views/held.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

describe('the figures of the work index', () => {
  it('tell by channel how long the oldest has been due, and how many are dead', async () => {
    const tables = new MemoryTables(() => T0);
    const put = (log_id: string, changes: Parameters<typeof dueRow>[0]) =>
      tables.log.set(log_id, { ...dueRow({ log_id, ...changes }) });
    put('late', { channel: 'email', work_at: iso(-90_000) });
    put('later', { channel: 'email', work_at: iso(-10_000) });
    put('waiting', { channel: 'slack', work_at: iso(10_000) });
    for (const id of ['d1', 'd2', 'd3']) {
      put(id, { channel: 'teams', priority: 'info', work_queue: workQueueOf('dead', 'info', id) });
    }
    expect(await monitorFigures(tables.dueIndex, T0)).toEqual({
      email: { oldest_due_seconds: 90, dead: 0 },
      slack: { oldest_due_seconds: 0, dead: 0 },
      teams: { oldest_due_seconds: 0, dead: 3 },
      webhook: { oldest_due_seconds: 0, dead: 0 },
    });
  });

  it('cost one page a partition, whatever there is', async () => {
    let pages = 0;
    const endless: DueIndex = {
      shards: async () => 8,
      async page(_, { limit }) {
        pages += 1;
        const item = { ...dueRow(), work_at: iso(-1_000) };
        return { items: Array.from({ length: limit }, () => item), next: {} };
      },
    };
    expect((await monitorFigures(endless, T0)).webhook).toEqual({ oldest_due_seconds: 1, dead: 32_000 });
    expect(pages).toBe(64);
  });
});

const MINUTE = 60_000;
const breaker = opened({ id: 'webhook#IC1', error_type: 'SERVER_OVERLOAD' }, undefined, { now: T0, policy });
const { express, standard } = breaker.lines;
const holding = { ...breaker, lines: { express, standard: { ...standard, slots: 500 * 60 * 60 } } };

it.each([
  ['has just opened', breaker, 1, 1],
  ['has nothing to hold for an hour', breaker, 61, 0],
  ['holds what comes in an hour', holding, 61, 1],
  ['held what has come back since', holding, 130, 0],
])('of a breaker that %s, monitor and status say so', (_, one, minutes, open) => {
  const now = at(minutes * MINUTE);
  expect(openByChannel([one], now).webhook).toBe(open);
  expect(breakerStatus([one], now)).toHaveLength(open);
});
