import { describe, expect, it } from 'vitest';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { type ReportDeps, type ReportStore, reportFailure } from '../../../src/core/intake/report-failure.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { at, dueRow, T0 } from '../../support/rows.ts';

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
    clock,
    newId: () => '1',
  };
  const report = (more: Partial<ReportStore> = {}) =>
    reportFailure('log-1', 'tenant-1', FAILURE, { ...deps, reports: { ...reports, ...more } });
  return { tables, reports, report };
}

describe('a report that loses its race', () => {
  it('against a change of the row reads it again', async () => {
    const { tables, reports, report } = setUp();
    let calls = 0;
    const change: ReportStore['change'] = async (row, plan) => {
      // An operator has it due later.
      if (calls++ < 2) tables.log.set('log-1', { ...tables.log.get('log-1'), work_at: at(calls).toISOString() });
      return reports.change(row, plan);
    };
    expect(await report({ change })).toMatchObject({ status: 'retrying', repeat: false });
    expect(calls).toBe(3);
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
      extras: { retry_after_seconds: expect.any(Number) },
    });
    expect(tables.row('log-1')).toEqual(dueRow());
    expect(tables.retryLog.size).toBe(0);
  });

  it('for the settling, after its record, is taken all the same', async () => {
    const { tables, report } = setUp();
    const settle: ReportStore['settle'] = async () => {
      tables.log.set('log-1', { ...tables.log.get('log-1'), send_status: 'RETRY' });
      return false;
    };
    expect(await report({ settle })).toMatchObject({ status: 'retrying', repeat: false });
    expect([...tables.retryLog.values()]).toMatchObject([{ retry_attempt: 1, error_type: 'NETWORK_TIMEOUT' }]);
  });
});
