import { describe, expect, it } from 'vitest';
import { deliverBatch } from '../../../src/core/delivery/deliver.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { NOW, setUp } from '../../support/delivering.ts';
import { at, dueRow, iso, messageFor, received } from '../../support/rows.ts';

const malformed = (changes: object) => ({ ...dueRow(), ...changes }) as unknown as NotificationRow;
const without = (row: NotificationRow, ...names: (keyof NotificationRow)[]) =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.some((gone) => gone === name)));

describe('a row in the work index that breaks a rule', () => {
  it.each([
    ['in its first receive', 1],
    ['when its message comes again', 2],
  ])('is set aside with column and rule, and is not sent: %s', async (_, receive_count) => {
    const { deliverOne, put, deliveries } = setUp();
    const row = put(malformed({ redrive_count: 'often' }));
    const { report, row: stored, records } = await deliverOne(row, { receive_count });
    expect(report).toMatchObject({
      disposition: { do: 'done' },
      dropped: expect.stringMatching(/^it left the work index: .*redrive_count/),
    });
    expect(report).not.toHaveProperty('attempt');
    expect(stored).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'FORMAT_ERROR',
      error_type: 'FORMAT_ERROR',
      error_message: expect.stringContaining('redrive_count breaks column of the pipeline'),
      updated_at: NOW.toISOString(),
    });
    for (const name of ['work_queue', 'work_at']) expect(stored).not.toHaveProperty(name);
    expect([deliveries, records]).toEqual([[], []]);
  });

  it('is judged by its counters as their writer left them, not as the claim has changed them', async () => {
    const { deliverOne, put } = setUp();
    // The claim makes 0 of -1, 5 of 6 and 0 of -1: each of the claimed counters would pass.
    const { row } = await deliverOne(put(malformed({ send_attempts: -1 })));
    expect(row).toMatchObject({
      failure_reason: 'FORMAT_ERROR',
      error_message: expect.stringMatching(/^send_attempts breaks chk_notification_log_attempts_positive/),
    });
    const fine = await deliverOne(
      put(dueRow({ log_id: 'log-2', send_attempts: 0, last_attempt: -1, attempts_left: 1 })),
    );
    expect(fine.row).toMatchObject({ send_status: 'SUCCESS', send_attempts: 1, last_attempt: 0, attempts_left: 0 });
  });

  it('is judged by each of its counters as the writer left it: the claim would make -1 of an impossible -2', async () => {
    const { deliverOne, put } = setUp();
    const { row } = await deliverOne(put(malformed({ last_attempt: -2 })));
    expect(row?.error_message).toMatch(/^last_attempt breaks column of the pipeline/);
  });

  it('stays as it is if others have changed it since it was claimed', async () => {
    const { deps, put, deliveries } = setUp();
    const row = put(malformed({ redrive_count: 'often' }));
    const rows = { ...deps.rows, settle: async () => false };
    const [report] = await deliverBatch([received(messageFor(row))], { ...deps, rows });
    expect(report).toMatchObject({ disposition: { do: 'done' }, dropped: 'the row has changed meanwhile' });
    expect(deliveries).toEqual([]);
  });

  it('is read again if its writer corrects it at that moment, and is sent', async () => {
    const { deps, put, tables } = setUp();
    const row = put(malformed({ redrive_count: 'often' }));
    let changes = 0;
    const change: typeof deps.rows.change = async (was, to) => {
      if (changes++ > 0) return deps.rows.change(was, to);
      put(dueRow());
      return false;
    };
    const batch = [received(messageFor(row), { receive_count: 2 })];
    const [report] = await deliverBatch(batch, { ...deps, rows: { ...deps.rows, change } });
    expect(report).toMatchObject({ attempt: 1, verdict: { status: 'SUCCESS' } });
    expect(tables.row('log-1')).toMatchObject({ send_status: 'SUCCESS' });
  });

  it('is not judged once it has left the index, whatever its message says', async () => {
    const { deps, put, tables } = setUp();
    const stopped = without(dueRow(), 'work_queue') as unknown as NotificationRow;
    put(stopped);
    const [report] = await deliverBatch(
      [received(messageFor(dueRow(), { channel: 'email' }), { receive_count: 2 })],
      deps,
    );
    expect(report?.dropped).toBe('no work is left on it');
    expect(tables.row('log-1')).toEqual(stopped);
  });

  it('only leaves the index if it is delivered: SUCCESS is final', async () => {
    const { deliverOne, put, deliveries } = setUp();
    const row = put(dueRow({ send_status: 'SUCCESS', sent_at: iso() }));
    const { report, row: stored } = await deliverOne(row);
    expect(report?.dropped).toBe('it left the work index: it is delivered already');
    const { updated_at, updated_by, ...rest } = stored ?? {};
    expect(rest).toEqual(without(row, 'work_queue'));
    expect(deliveries).toEqual([]);
  });
});

describe('a message for a row of another channel or tenant', () => {
  const replaced = [
    ['of an earlier time of the row', { work_at: iso(500) }],
    ['of the same time', {}],
    ['of the same time, while a claim has expired', { send_status: 'SENDING', claim_until: iso() }],
  ] as const;

  it.each(
    replaced.flatMap(([when, changes]) =>
      ([{ channel: 'slack' }, { tenant_id: 'tenant-2' }] as const).flatMap((other) =>
        [1, 2].map((receive_count) => ({ when, changes, other, receive_count })),
      ),
    ),
  )('$when is dropped, and the row stays as its writer put it: $other, receive $receive_count', async (given) => {
    const { deps, put, tables, deliveries } = setUp();
    const row = put(dueRow({ ...given.changes, ...given.other }));
    const message = messageFor(dueRow());
    const [report] = await deliverBatch([received(message, { receive_count: given.receive_count })], deps);
    expect(report).toMatchObject({ disposition: { do: 'done' }, dropped: expect.stringContaining('has moved on') });
    expect(tables.row('log-1')).toEqual(row);
    expect([deliveries, tables.retryLog.size]).toEqual([[], 0]);
  });

  it('is no redrive of the row, whatever its run', async () => {
    const { deps, put, tables, deliveries } = setUp();
    const dead = dueRow({
      failure_reason: 'AUTH_FAILED',
      work_queue: workQueueOf('dead', 'normal', 'log-1'),
      dead_message_id: 'message-0',
      dead_run_id: 'sweep-1',
    });
    const row = put({ ...dead, channel: 'slack' });
    const message = received(messageFor(dead), { message_id: 'message-9', sent_at: at(500) });
    const [report] = await deliverBatch([message], deps);
    expect(report?.dropped).toContain('has moved on');
    expect([tables.row('log-1'), deliveries]).toEqual([row, []]);
  });
});
