import { describe, expect, it } from 'vitest';
import { deliverBatch } from '../../../src/core/delivery/deliver.ts';
import type { FailedAttempt } from '../../../src/core/intake/notification-request.ts';
import { type ReportDeps, type ReportStore, reportFailure } from '../../../src/core/intake/report-failure.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import * as worker from '../../support/delivering.ts';
import { baseShards } from '../../support/index-shards.ts';
import { at, dueRow, iso, messageFor, received, T0 } from '../../support/rows.ts';

const FAILURE = { error_type: 'NETWORK_TIMEOUT' } as const;

function setUp() {
  const clock = () => T0;
  const tables = new MemoryTables(clock);
  tables.log.set('log-1', { ...dueRow() });
  const reports: ReportStore = {
    ...tables.rows,
    index: (...args) => tables.index(...args),
    putContent: (...args) => tables.putContent(...args),
    hasContent: (log_id) => tables.hasContent(log_id),
    readRow: async (log_id) => tables.log.get(log_id),
  };
  const deps: ReportDeps = {
    reports,
    records: tables.records,
    recordsOf: async () => [...tables.retryLog.values()],
    policy: DEFAULT_RETRY_POLICY,
    shards: baseShards,
    clock,
    newId: () => '1',
  };
  const report = (more: Partial<ReportStore> = {}, failure: FailedAttempt = FAILURE, tenant_id = 'tenant-1') =>
    reportFailure('log-1', tenant_id, failure, { ...deps, reports: { ...reports, ...more } });
  return { tables, reports, deps, report };
}

describe('a report that loses its race', () => {
  it('against a change of the row reads it again', async () => {
    const { tables, reports, report } = setUp();
    let calls = 0;
    const change: ReportStore['change'] = async (row, plan) => {
      // An operator has it due later.
      if (calls++ < 2) tables.log.set('log-1', { ...tables.log.get('log-1'), work_at: iso(calls) });
      return reports.change(row, plan);
    };
    expect(await report({ change })).toMatchObject({ status: 'retrying', repeat: false });
    // Two that lose, the claim, the settlement.
    expect(calls).toBe(4);
    expect(tables.row('log-1')).toMatchObject({ send_status: 'RETRY', send_attempts: 2, last_attempt: 1 });
    expect(tables.retryLog.size).toBe(1);
  });

  it('against itself, for the answer to its claim got lost, goes on with that claim', async () => {
    const { tables, reports, report } = setUp();
    const change: ReportStore['change'] = async (row, plan) => {
      await reports.change(row, plan);
      return reports.change(row, plan);
    };
    expect(await report({ change })).toMatchObject({ status: 'retrying' });
    expect(tables.row('log-1')).toMatchObject({ send_status: 'RETRY', send_attempts: 2, last_attempt: 1 });
  });

  it('again and again is to be made anew, which the client keeps it for', async () => {
    const { tables, report } = setUp();
    const change: ReportStore['change'] = async () => false;
    await expect(report({ change })).rejects.toMatchObject({
      problem: 'unavailable',
      message: 'The failure is not recorded, because other processes kept changing the notification. Report it again.',
      extras: { retry_after_seconds: 2 },
    });
    expect(tables.row('log-1')).toEqual(dueRow());
    expect(tables.retryLog.size).toBe(0);
  });

  it('against one of the same send leaves the record by which that one settles the row', async () => {
    const { tables, deps, report } = setUp();
    const attempted_at = iso(-1_000);
    const putIfAbsent: ReportDeps['records']['putIfAbsent'] = async (record) => {
      await report({}, { error_type: 'SERVER_OVERLOAD', attempted_at });
      return tables.records.putIfAbsent(record);
    };
    const slow = { ...deps, records: { ...tables.records, putIfAbsent } };
    await reportFailure('log-1', 'tenant-1', { ...FAILURE, attempted_at }, slow);
    expect(tables.row('log-1')).toMatchObject({ error_type: 'SERVER_OVERLOAD' });
    expect(tables.retryLog.get('log-1#1')).toMatchObject({ error_type: 'SERVER_OVERLOAD' });
  });

  it.each([
    ['while it is recorded', 1],
    ['before it is reported again, as the first report died there', 0],
  ])('against the event that shows an earlier attempt arrived, %s: it is delivered, not failed', async (_, of_try) => {
    const { tables, deps, reports } = setUp();
    const failure = { error_type: 'INVALID_RECIPIENT', attempted_at: iso(-1_000) } as const;
    const shown = () => {
      const delivery = { delivery_by_attempt: { 0: 'seen' }, delivered_at: iso() };
      tables.log.set('log-1', { ...tables.log.get('log-1'), ...delivery });
    };
    const putIfAbsent: ReportDeps['records']['putIfAbsent'] = async (record) => {
      shown();
      if (of_try === 0) throw new Error('it dies');
      return tables.records.putIfAbsent(record);
    };
    const first = { ...deps, reports, records: { ...tables.records, putIfAbsent } };
    const died = await reportFailure('log-1', 'tenant-1', failure, first).catch(() => undefined);
    const answer = died ?? (await reportFailure('log-1', 'tenant-1', failure, deps));
    if (answer.message === undefined) throw new Error('nobody settles it');
    const { deliveries, deps: channel } = worker.setUp(undefined, {
      rows: tables.rows,
      records: tables.records,
      clock: () => T0,
    });
    await deliverBatch([received(answer.message.message)], channel);
    expect(deliveries).toEqual([]);
    expect(tables.row('log-1')).toMatchObject({ send_status: 'SUCCESS' });
    expect(tables.row('log-1')).not.toHaveProperty('failure_reason');
  });

  it('for the settling, after its record, is taken all the same', async () => {
    const { tables, reports, report } = setUp();
    let calls = 0;
    const change: ReportStore['change'] = async (row, plan) => {
      if (calls++ === 0) return reports.change(row, plan);
      tables.log.set('log-1', { ...tables.log.get('log-1'), send_status: 'RETRY' });
      return false;
    };
    expect(await report({ change })).toMatchObject({ status: 'retrying', repeat: false });
    expect([...tables.retryLog.values()]).toMatchObject([{ retry_attempt: 1, error_type: 'NETWORK_TIMEOUT' }]);
  });
});

it.each([
  ['NETWORK_TIMEOUT', 'RETRY'],
  ['INVALID_RECIPIENT', 'FAILED'],
  ['AUTH_FAILED', 'FAILED'],
] as const)(
  'a report whose notification a sweep finds before its record is no worker that crashed: after %s it is %s',
  async (error_type, send_status) => {
    const { tables, reports, deps } = setUp();
    const { deliveries, deps: channel } = worker.setUp(() => ({ ok: true, response_code: '202' }), {
      rows: tables.rows,
      records: tables.records,
      clock: () => at(10),
    });
    const sweep = () => deliverBatch([received(messageFor(tables.row('log-1') ?? dueRow()))], channel);
    const records: ReportDeps['records'] = {
      ...tables.records,
      putIfAbsent: async (record) => {
        await sweep();
        return tables.records.putIfAbsent(record);
      },
    };
    await reportFailure('log-1', 'tenant-1', { error_type }, { ...deps, reports, records });
    expect([...tables.retryLog.values()]).toMatchObject([{ retry_attempt: 1, error_type }]);
    await sweep();
    expect(deliveries).toEqual([]);
    expect(tables.row('log-1')).toMatchObject({ send_status, last_attempt: 1 });
  },
);

describe('a report', () => {
  it('is counted, recorded and retried', async () => {
    const { tables, report } = setUp();
    expect(await report()).toMatchObject({ log_id: 'log-1', status: 'retrying', repeat: false });
    expect(tables.row('log-1')).toMatchObject({
      send_status: 'RETRY',
      send_attempts: 2,
      attempts_left: 4,
      last_attempt: 1,
    });
    expect([...tables.retryLog.values()]).toMatchObject([
      { retry_attempt: 1, retry_at: iso(), error_type: 'NETWORK_TIMEOUT', error_details: '{"reported_by":"producer"}' },
    ]);
  });

  it('after which the notification is given up leaves that to its lane, and no time of a next retry', async () => {
    const { tables, report } = setUp();
    tables.log.set('log-1', { ...dueRow({ next_retry_at: iso(60_000) }) });
    expect(await report({}, { error_type: 'AUTH_FAILED' })).toMatchObject({ status: 'failed' });
    expect(tables.row('log-1')).toMatchObject({ send_status: 'SENDING', last_attempt: 1 });
    expect(tables.row('log-1')).not.toHaveProperty('next_retry_at');
  });

  it('of a recipient that its writer has replaced before ends nothing: its lane sends to the new one', async () => {
    const { tables, report } = setUp();
    tables.log.set('log-1', { ...dueRow(), recipient_address: 'new@example.com' });
    await report({}, { error_type: 'INVALID_RECIPIENT' });
    expect(tables.row('log-1')).toMatchObject({ send_status: 'SENDING', last_attempt: 1 });
    expect(tables.row('log-1')).not.toHaveProperty('failure_reason');
  });

  it.each([
    ['names no time', {}, 0, 0],
    ['comes before any attempt', { attempted_at: iso(-1_000) }, -1, 0],
    ['may be one of an earlier send', { attempted_at: iso(-1_000) }, 0, 1],
  ])('looks for its record only where there may be one: it %s', async (_, changes, last_attempt, expected) => {
    const { deps, reports, tables } = setUp();
    tables.log.set('log-1', { ...dueRow({ last_attempt }) });
    let reads = 0;
    const recordsOf: ReportDeps['recordsOf'] = async () => {
      reads += 1;
      return [];
    };
    await reportFailure('log-1', 'tenant-1', { ...FAILURE, ...changes }, { ...deps, reports, recordsOf });
    expect(reads).toBe(expected);
  });

  it('before the scheduled time has its retry then', async () => {
    const { tables, report } = setUp();
    const scheduled = iso(24 * 3_600_000);
    const times = { work_at: scheduled, first_attempt_at: scheduled };
    tables.log.set('log-1', { ...dueRow({ last_attempt: -1, send_attempts: 0, attempts_left: 6, ...times }) });
    expect(await report()).not.toHaveProperty('message');
    expect(tables.row('log-1')).toMatchObject({ next_retry_at: scheduled, work_at: scheduled });
  });

  it('of a first attempt has its retry sent in time by a message', async () => {
    const { tables, report } = setUp();
    tables.log.set('log-1', { ...dueRow({ last_attempt: -1, send_attempts: 0, attempts_left: 6 }) });
    const { message } = await report();
    expect(message?.message.due).toBe(tables.row('log-1')?.next_retry_at);
    expect(tables.row('log-1')).toMatchObject({ send_attempts: 1, attempts_left: 5, last_attempt: 0 });
  });

  it('with the same time again gets the same answer, also after other attempts', async () => {
    const { tables, report } = setUp();
    tables.log.set('log-1', { ...dueRow({ last_attempt: -1, send_attempts: 0, attempts_left: 6 }) });
    const failure = { ...FAILURE, attempted_at: iso(-1_000) };
    const { message, ...first } = await report({}, failure);
    expect(first).toEqual({ log_id: 'log-1', status: 'retrying', repeat: false });
    const row = tables.log.get('log-1');
    // The first one may have died before it sent its message.
    expect(await report({}, failure)).toEqual({ ...first, repeat: true, message });
    expect(tables.log.get('log-1')).toEqual(row);
    tables.log.set('log-1', { ...row, last_attempt: 2, send_status: 'SENDING' });
    expect(await report({}, failure)).toEqual({ ...first, repeat: true });
    expect(tables.retryLog.size).toBe(1);
    tables.log.set('log-1', row ?? {});
    expect(await report({}, { ...failure, attempted_at: iso(-2_000) })).toMatchObject({ repeat: false });
    expect(await report()).toMatchObject({ repeat: false });
    expect(await report()).toMatchObject({ repeat: false });
    expect(tables.retryLog.size).toBe(4);
  });

  it('that ends the notification says so when it is repeated', async () => {
    const { report } = setUp();
    const failure = { error_type: 'INVALID_RECIPIENT', attempted_at: iso() } as const;
    const [first, again] = [await report({}, failure), await report({}, failure)];
    expect([first.status, again]).toEqual(['failed', { log_id: 'log-1', status: 'failed', repeat: true }]);
  });

  it('of a send a week ago has a record that is kept as long as the row', async () => {
    const { tables, report } = setUp();
    tables.log.set('log-1', { ...dueRow({ expires_at: 1_900_000_000, priority: 'urgent' }) });
    await report({}, { ...FAILURE, attempted_at: iso(-7 * 86_400_000) });
    expect(tables.retryLog.get('log-1#1')).toMatchObject({ expires_at: 1_900_000_000 });
  });

  it('that died after its record, or after its claim, is continued', async () => {
    for (const died of ['settle', 'put'] as const) {
      const { tables, reports, report } = setUp();
      const failure = { ...FAILURE, attempted_at: iso(-1_000) };
      let calls = 0;
      const change: ReportStore['change'] = async (row, plan) => calls++ === 0 && reports.change(row, plan);
      if (died === 'settle') await report({ change, settle: async () => false }, failure);
      else {
        const row = dueRow({ send_status: 'SENDING', claim_until: iso(-1_000), last_attempt: 1 });
        tables.log.set('log-1', { ...row });
      }
      expect(await report({}, failure)).toMatchObject({ status: 'retrying', repeat: false });
      expect(tables.row('log-1')).toMatchObject({ send_status: 'RETRY', last_attempt: 1 });
      expect([...tables.retryLog.values()]).toMatchObject([{ retry_attempt: 1, retry_at: iso(-1_000) }]);
    }
  });

  const sending = (claim_until: Date) => dueRow({ send_status: 'SENDING', claim_until: claim_until.toISOString() });
  const { work_queue: _, ...stopped } = dueRow({ failure_reason: 'CANCELLED' });
  const { work_at: __, ...setAside } = stopped;
  it.each<[string, NotificationRow, string]>([
    ['is delivered', dueRow({ send_status: 'SUCCESS' }), 'the notification is delivered already'],
    ['is claimed', sending(at(1)), 'an attempt is under way'],
    ['was abandoned by a worker', sending(at(-1)), 'an attempt is under way'],
    ['a worker abandons at that moment', { ...sending(at(0)), claim_id: 'worker' }, 'an attempt is under way'],
    [
      'is dead',
      dueRow({ work_queue: workQueueOf('dead', 'normal', 'log-1') }),
      'the notification was given up already; retry it instead',
    ],
    ['was stopped', stopped, 'the notification was given up already; retry it instead'],
    ['was set aside', setAside, 'the notification was given up already; retry it instead'],
    ['is deleted', dueRow({ is_deleted: true }), 'its writer deleted the notification'],
  ])('of a notification that %s is a conflict, and changes nothing', async (_, row, because) => {
    const { tables, report } = setUp();
    tables.log.set('log-1', { ...row });
    await expect(report()).rejects.toMatchObject({
      problem: 'conflict',
      message: `The failure is not recorded: ${because}.`,
    });
    expect(tables.log.get('log-1')).toEqual(row);
    expect(tables.retryLog.size).toBe(0);
  });

  it('of another tenant’s notification finds nothing', async () => {
    const { report } = setUp();
    await expect(report({}, FAILURE, 'tenant-2')).rejects.toMatchObject({ problem: 'not-found' });
  });
});
