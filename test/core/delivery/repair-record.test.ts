import { describe, expect, it } from 'vitest';
import { owedRecord, recordDue } from '../../../src/core/delivery/retry-record.ts';
import { repairRecord } from '../../../src/core/delivery/take-over.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { at, dueRow, iso } from '../../support/rows.ts';

const record: RetryRecord = {
  retry_log_id: 'log-1#1',
  original_log_id: 'log-1',
  retry_attempt: 1,
  tenant_id: 'tenant-1',
  channel: 'webhook',
  retry_at: iso(),
  retry_status: 'SUCCESS',
  duration_ms: 17,
  trigger: 'redrive',
  run_id: 'sweep-1',
  response_code: '202',
  response_message: 'taken',
  provider_message_id: 'p-1',
};
const owing = (changes: Partial<NotificationRow> = {}) =>
  dueRow({ send_status: 'SUCCESS', last_attempt: 1, record_due: recordDue(record), ...changes });

function setUp(row: NotificationRow) {
  const tables = new MemoryTables(() => at(5000));
  tables.log.set(row.log_id, { ...row });
  return { tables, repair: () => repairRecord(row, tables) };
}

describe('a delivered row that owes its record', () => {
  it('keeps all that the record says, also without the texts that the provider did not give', () => {
    expect(owedRecord(owing())).toEqual(record);
    const { response_message: _, provider_message_id: _1, ...bare } = record;
    expect(owedRecord(owing({ record_due: recordDue(bare) }))).toEqual(bare);
  });

  it('leaves out of it what someone else wrote as another type than text', () => {
    const { response_code: _, ...rest } = record;
    const record_due = JSON.stringify({ ...JSON.parse(recordDue(record)), response_code: 202 });
    expect(owedRecord(owing({ record_due }))).toEqual(rest);
  });

  it('leaves the work index once the record is written', async () => {
    const { tables, repair } = setUp(owing());
    expect(await repair()).toEqual({ disposition: { do: 'done' }, dropped: expect.stringContaining('is written') });
    expect([...tables.retryLog.values()]).toEqual([record]);
    const { work_queue: _, record_due: _1, ...settled } = owing();
    expect(tables.log.get('log-1')).toEqual({ ...settled, updated_at: iso(5000), updated_by: 'notification-retry' });
  });

  it('leaves the record of a delivery event as it is', async () => {
    const { tables, repair } = setUp(owing());
    const corrected: RetryRecord = { ...record, retry_status: 'FAILED', error_type: 'INVALID_RECIPIENT' };
    await tables.records.putIfAbsent(corrected);
    await repair();
    expect([...tables.retryLog.values()]).toEqual([corrected]);
    expect(tables.log.get('log-1')).not.toHaveProperty('record_due');
  });

  it('stays for the next sweep while RetryLog refuses, and its message does not come back', async () => {
    const { tables } = setUp(owing());
    const error = new Error('throttled');
    const records = { ...tables.records, putIfAbsent: () => Promise.reject(error) };
    expect(await repairRecord(owing(), { rows: tables.rows, records })).toEqual({
      disposition: { do: 'done' },
      dropped: expect.stringContaining('still owes'),
      record_error: error,
    });
    expect(tables.log.get('log-1')).toEqual(owing());
  });

  it.each([
    ['no JSON', 'x'],
    ['no object', 'null'],
    ['an attempt that is no number', JSON.stringify({ ...record, retry_attempt: '1' })],
    ['a time that is none', JSON.stringify({ ...record, retry_at: 'soon' })],
    ['a time of another type', JSON.stringify({ ...record, retry_at: 7 })],
    ['no duration', JSON.stringify({ ...record, duration_ms: null })],
    ['an unknown trigger', JSON.stringify({ ...record, trigger: 'cron' })],
    ['no run', JSON.stringify({ ...record, run_id: undefined })],
  ])('only leaves the index if someone else wrote what it owes: %s', async (_, record_due) => {
    const { tables, repair } = setUp(owing({ record_due }));
    await repair();
    expect(tables.retryLog.size).toBe(0);
    expect(tables.log.get('log-1')).not.toHaveProperty('work_queue');
  });
});
