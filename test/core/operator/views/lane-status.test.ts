import { describe, expect, it } from 'vitest';
import { CHANNELS } from '../../../../src/core/model/channels.ts';
import { type DueIndex, workQueueOf } from '../../../../src/core/model/work-index.ts';
import { laneStatus } from '../../../../src/core/operator/views/pipeline-status.ts';
import { MemoryTables } from '../../../../tools/simulation/twins/memory-tables.ts';
import { dueRow, iso, T0 } from '../../../support/rows.ts';

function index(rows: readonly ReturnType<typeof dueRow>[], pageSize: number): DueIndex {
  const tables = new MemoryTables(() => T0);
  for (const row of rows) tables.log.set(row.log_id, { ...row });
  return { ...tables.dueIndex, page: (queue, options) => tables.dueIndex.page(queue, { ...options, limit: pageSize }) };
}

describe('the status of the lanes', () => {
  it('counts every page of every partition', async () => {
    const rows = Array.from({ length: 100 }, (_, i) =>
      dueRow({
        log_id: `n-${i}`,
        channel: i % 2 === 0 ? 'email' : 'slack',
        work_queue: workQueueOf(i % 4 < 2 ? 'due' : 'dead', 'normal', `n-${i}`),
        work_at: iso((i - 50) * 1_000),
      }),
    );
    const lanes = await laneStatus({ index: index(rows, 3), channels: CHANNELS, inFlight: async () => 0, now: T0 });
    const standard = lanes.filter(({ lane, channel }) => lane === 'standard' && /email|slack/.test(channel));
    expect(standard).toEqual([
      expect.objectContaining({ channel: 'email', due: 13, waiting: 12, dead: 25, oldest_due_at: rows[0]?.work_at }),
      expect.objectContaining({ channel: 'slack', due: 13, waiting: 12, dead: 25, oldest_due_at: rows[1]?.work_at }),
    ]);
    const others = lanes.filter((lane) => !standard.includes(lane));
    expect(others).toHaveLength(6);
    for (const { due, waiting, dead } of others)
      expect({ due, waiting, dead }).toEqual({ due: 0, waiting: 0, dead: 0 });
  });

  it('puts urgent and important into the express lane, and takes in_flight from the queues', async () => {
    const rows = (['urgent', 'important', 'normal', 'info'] as const).map((priority) =>
      dueRow({ log_id: priority, priority, work_queue: workQueueOf('due', priority, priority) }),
    );
    const lanes = await laneStatus({
      index: index(rows, 250),
      channels: CHANNELS,
      inFlight: async (channel, lane) => (channel === 'webhook' && lane === 'express' ? 7 : 0),
      now: T0,
    });
    expect(lanes.filter(({ channel }) => channel === 'webhook')).toMatchObject([
      { lane: 'express', due: 2, in_flight: 7 },
      { lane: 'standard', due: 2, in_flight: 0 },
    ]);
  });
});
