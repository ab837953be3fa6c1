import { describe, expect, it } from 'vitest';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { type DueIndex, workQueueOf } from '../../../src/core/model/work-index.ts';
import { workFigures } from '../../../src/core/monitor/work-figures.ts';
import { at, dueRow, T0 } from '../../support/rows.ts';

describe('the figures of the work index', () => {
  it('tell by channel how long the oldest has been due, and how many are dead', async () => {
    const tables = new MemoryTables(() => T0);
    const put = (log_id: string, changes: Parameters<typeof dueRow>[0]) =>
      tables.log.set(log_id, { ...dueRow({ log_id, ...changes }) });
    put('late', { channel: 'email', work_at: at(-90_000).toISOString() });
    put('later', { channel: 'email', work_at: at(-10_000).toISOString() });
    put('waiting', { channel: 'slack', work_at: at(10_000).toISOString() });
    for (const id of ['d1', 'd2', 'd3']) {
      put(id, { channel: 'teams', priority: 'info', work_queue: workQueueOf('dead', 'info', id) });
    }
    expect(await workFigures(tables.dueIndex, T0)).toEqual({
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
        const item = { ...dueRow(), work_at: at(-1_000).toISOString() };
        return { items: Array.from({ length: limit }, () => item), next: {} };
      },
    };
    expect((await workFigures(endless, T0)).webhook).toEqual({ oldest_due_seconds: 1, dead: 32_000 });
    expect(pages).toBe(64);
  });
});
