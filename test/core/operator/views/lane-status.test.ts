import { describe, expect, it } from 'vitest';
import { opened } from '../../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../../src/core/breaker/breaker-policy.ts';
import { CHANNELS } from '../../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../../src/core/model/notification.ts';
import { type DueIndex, workQueueOf } from '../../../../src/core/model/work-index.ts';
import { breakerStatus } from '../../../../src/core/operator/views/held.ts';
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
    const { lanes } = await laneStatus({ index: index(rows, 3), channels: CHANNELS, inFlight: async () => 0, now: T0 });
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

  it('puts urgent and important into the express lane, and takes in_flight from the queues, but no more than are due', async () => {
    const rows = (['urgent', 'important', 'normal', 'info'] as const).map((priority) =>
      dueRow({ log_id: priority, priority, work_queue: workQueueOf('due', priority, priority) }),
    );
    const { lanes } = await laneStatus({
      index: index(rows, 250),
      channels: CHANNELS,
      inFlight: async (channel, lane) => (channel === 'webhook' && lane === 'express' ? 7 : 0),
      now: T0,
    });
    expect(lanes.filter(({ channel }) => channel === 'webhook')).toMatchObject([
      { lane: 'express', due: 0, in_flight: 2 },
      { lane: 'standard', due: 2, in_flight: 0 },
    ]);
  });

  it('counts each unfinished notification once: held, whatever its time, where its provider is down', async () => {
    const down = Array.from({ length: 40 }, (_, i) =>
      dueRow({ log_id: `held-${i}`, integration_config_id: 'IC-DOWN', work_at: iso((i - 15) * 1_000) }),
    );
    const [busy, come, later] = [-3_000, -2_000, 60_000].map((ms, i) =>
      dueRow({ log_id: `free-${i}`, integration_config_id: 'IC-UP', work_at: iso(ms) }),
    ) as [NotificationRow, NotificationRow, NotificationRow];
    const rows = [...down, { ...busy, send_status: 'SENDING' as const, claim_until: iso(9_000) }, come, later];
    const byId = new Map(rows.map((row) => [row.log_id, row]));
    const breaker = opened({ id: 'webhook#IC-DOWN', error_type: 'NETWORK_TIMEOUT' }, undefined, {
      now: T0,
      policy: DEFAULT_BREAKER_POLICY,
    });
    const breakers = breakerStatus([breaker], T0);
    const { lanes, heldBy } = await laneStatus({
      index: index(rows, 7),
      channels: CHANNELS,
      // SQS counts messages of what is held, too, while their worker waits for a probe.
      inFlight: async (channel) => (channel === 'webhook' ? 1 : 0),
      now: T0,
      holders: { breakers, rows: async (ids) => ids.flatMap((id) => byId.get(id) ?? []).map((row) => ({ ...row })) },
    });
    const webhooks = lanes.filter(({ channel }) => channel === 'webhook');
    const sum = (name: 'due' | 'waiting' | 'held' | 'in_flight') => webhooks.reduce((all, lane) => all + lane[name], 0);
    expect({ due: sum('due'), waiting: sum('waiting'), held: sum('held'), in_flight: sum('in_flight') }).toEqual({
      due: 1,
      waiting: 1,
      held: 40,
      in_flight: 1,
    });
    expect(breakers.map(heldBy)).toEqual([40]);
  });
});
