import { expect, it } from 'vitest';
import { foresight } from '../../../src/core/delivery/claim-plan.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { sweep } from '../../../src/core/sweep/sweep.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-run.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { dueRow, iso, T0 } from '../../support/rows.ts';

const HOUR = 3_600_000;

/** A dry run that lists. */
async function listed(rows: readonly NotificationRow[], request: SweepRequest = {}) {
  const tables = new MemoryTables(() => T0);
  for (const row of rows) tables.log.set(row.log_id, { ...row });
  const { dueIndex: index } = tables;
  let reads = 0;
  const read = async (log_id: string) => {
    reads += 1;
    return tables.rows.read(log_id);
  };
  const clock = () => T0;
  const policy = DEFAULT_RETRY_POLICY;
  const foresee = foresight({ rows: { read }, clock, policy });
  const nothing = async () => undefined;
  const sweeps = { lastCompleted: nothing, lastExpress: nothing, lastAhead: nothing };
  const lanes = { backlog: async () => 0, send: () => expect.unreachable('a dry run sends nothing') };
  const deps = {
    index,
    foresee,
    lanes,
    clock,
    interval_ms: HOUR,
    policy,
    sweeps,
  };
  const { result } = await sweep({ dry_run: true, list: true, ...request }, { run_id: 'manual-1' }, deps);
  expect([...tables.log.values()]).toEqual(rows);
  return { ...result, reads };
}

const row = (log_id: string, changes: Partial<NotificationRow> = {}) =>
  dueRow({ log_id, work_queue: workQueueOf('due', changes.priority ?? 'normal', log_id), ...changes });

const dead = (log_id: string, changes: Partial<NotificationRow> = {}) =>
  row(log_id, {
    send_status: 'FAILED',
    failure_reason: 'MAX_RETRIES',
    work_queue: workQueueOf('dead', 'normal', log_id),
    dead_message_id: 'letter',
    ...changes,
  });

it.each<[string, NotificationRow, SweepRequest, object]>([
  ['is sent', row('n'), {}, { would: 'send' }],
  ['is too old', row('n', { first_attempt_at: iso(-7 * HOUR) }), {}, { would: 'give_up', why: 'EXPIRED' }],
  ['is deleted', row('n', { is_deleted: true }), {}, { would: 'give_up', why: 'CANCELLED' }],
  ['bounced', row('n', { give_up: 'INVALID_RECIPIENT' }), {}, { would: 'give_up', why: 'INVALID_RECIPIENT' }],
  [
    'has used up the limit of the run',
    row('n', { send_attempts: 3 }),
    { max_retry_count: 2 },
    { would: 'give_up', why: 'MAX_RETRIES' },
  ],
  ['is too old, and forced', row('n', { first_attempt_at: iso(-7 * HOUR) }), { force_retry: true }, { would: 'send' }],
  ['is dead, and forced', dead('n'), { force_retry: true }, { would: 'send' }],
  [
    'is dead, deleted, and forced',
    dead('n', { is_deleted: true }),
    { force_retry: true },
    { would: 'give_up', why: 'CANCELLED' },
  ],
  [
    'is being sent',
    row('n', { send_status: 'SENDING', claim_until: iso(60_000) }),
    {},
    { would: 'skip', why: 'a worker has it now' },
  ],
])('a dry run says what would happen to a notification that %s', async (_, one, request, expected) => {
  const { targets } = await listed([one], request);
  expect(targets).toEqual([{ log_id: 'n', channel: one.channel, priority: one.priority, ...expected }]);
});

it('lists as many as the run is limited to, 1,000 otherwise, the urgent ones first, and says that there are more', async () => {
  const many = Array.from({ length: 1_200 }, (_, i) => row(`n${i}`, { work_at: iso(-2_000 + i) }));
  const urgent = row('first', { priority: 'urgent' });
  const all = await listed([...many, urgent]);
  expect(all).toMatchObject({ due: 1_201, dispatched: 0, truncated: true, reads: 1_000 });
  expect(all.targets).toHaveLength(1_000);
  expect(all.targets?.[0]).toMatchObject({ log_id: 'first' });
  const few = await listed([...many, urgent], { limit: 3 });
  expect(few.targets?.map(({ log_id }) => log_id)).toHaveLength(3);
  expect(few.truncated).toBe(true);
  const whole = await listed([...many, urgent], { limit: 5_000 });
  expect(whole.targets).toHaveLength(1_201);
  expect(whole).not.toHaveProperty('truncated');
});

it('reads no row without being asked to list', async () => {
  const result = await listed([row('n')], { list: false });
  expect(result.reads).toBe(0);
  expect(result).not.toHaveProperty('targets');
});
