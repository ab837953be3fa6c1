import { expect, it } from 'vitest';
import { failOver } from '../../../src/core/delivery/failover.ts';
import { hastened, revival } from '../../../src/core/delivery/transitions/without-attempt.ts';
import { failedBecause } from '../../../src/core/delivery/verdict.ts';
import type { Priority } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { isExpected, isQueued } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { planRetry } from '../../../src/core/operator/retry-now.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { CONTENT, dueRow, iso, T0 } from '../../support/rows.ts';

const waiting = (priority: Priority) =>
  dueRow({ priority, work_queue: `due#${priority}#0`, send_status: 'RETRY', work_at: iso(3_600_000) });

async function successorOf(row: NotificationRow): Promise<Partial<NotificationRow>> {
  const tables = new MemoryTables(() => T0);
  tables.content.set('log-1', {
    ...CONTENT,
    tenant_id: 'tenant-1',
    fallback: { recipient: 'https://hooks.example.com/x' },
  });
  const deps = { rows: tables.rows, successors: tables.successors, policy, clock: () => T0 };
  const failed = { ...row, fallback_channel: 'teams' } as const;
  tables.log.set(failed.log_id, { ...failed });
  await failOver(failed, failedBecause('EXPIRED', 'UNKNOWN'), 'sweep-1', deps);
  return tables.row('log-1-fallback') ?? {};
}

it.each<[string, (row: NotificationRow) => Partial<NotificationRow> | Promise<Partial<NotificationRow>>]>([
  [
    'by an operator who retries it',
    (row) => {
      const plan = planRetry(row, T0, policy);
      return plan.do === 'queue' ? (plan.change?.set ?? {}) : {};
    },
  ],
  ['by a replay', (row) => revival(row, T0, policy, 'replay-1').set],
  ['as the successor of a failover', successorOf],
])(
  'a row that is made due now, and whose message follows %s, has the note for express runs, if they take it',
  async (_, make) => {
    const noted = async (priority: Priority) => {
      const { work_at = '', queued_for } = await make(waiting(priority));
      expect(work_at).toBe(iso());
      return isExpected({ work_at, ...(queued_for !== undefined && { queued_for }) });
    };
    expect(await noted('urgent')).toBe(true);
    expect(await noted('normal')).toBe(false);
  },
);

it.each([
  ['a replay', (row: NotificationRow) => revival(row, T0, policy)],
  ['an operator who retries it', (row: NotificationRow) => hastened(row, T0)],
])('%s leaves no note of a former time, which would pass for one of today', (_, make) => {
  const row = { ...waiting('normal'), queued_for: iso().slice(11, 19) };
  const { work_at = '', queued_for = row.queued_for } = make(row).set;
  expect(isQueued({ work_at, queued_for })).toBe(false);
});
