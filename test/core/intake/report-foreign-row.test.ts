import { describe, expect, it } from 'vitest';
import { ErasedError, RowUnstorableError } from '../../../src/core/indexing/index-row.ts';
import { reportFailure } from '../../../src/core/intake/report-failure.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { baseShards } from '../../support/index-shards.ts';
import { at, iso, T0 } from '../../support/rows.ts';

const ROW = {
  log_id: 'log-1',
  tenant_id: 'tenant-1',
  notification_type: 'WEBHOOK',
  recipient_address: 'https://example.com/hook',
  message_body: 'Hello',
  message_format: 'PLAIN',
  send_status: 'PENDING',
  next_retry_at: iso(3_600_000),
  created_at: iso(-60_000),
};

/** A report on a row that its writer put, and that the indexer has not seen yet. */
function reportOn(row: Readonly<Record<string, unknown>>, attempted_at?: Date) {
  const clock = () => T0;
  const tables = new MemoryTables(clock);
  tables.log.set('log-1', row);
  const content: unknown[] = [];
  const failure = { error_type: 'SERVER_OVERLOAD', ...(attempted_at && { attempted_at: attempted_at.toISOString() }) };
  const report = () =>
    reportFailure('log-1', 'tenant-1', failure as { error_type: 'SERVER_OVERLOAD' }, {
      reports: {
        ...tables.rows,
        index: (...args) => tables.index(...args),
        putContent: (owner, given) => {
          content.push(owner);
          return tables.putContent(owner, given);
        },
        hasContent: (log_id) => tables.hasContent(log_id),
        readRow: async (log_id) => tables.log.get(log_id),
      },
      records: tables.records,
      recordsOf: async () => [...tables.retryLog.values()],
      policy: DEFAULT_RETRY_POLICY,
      shards: baseShards,
      clock,
      newId: () => '1',
    });
  return { tables, report, content };
}

describe('a report on a row that is not indexed yet', () => {
  it.each([
    [new ErasedError('The content of this log_id was erased.'), /were erased/],
    [new RowUnstorableError('the limit of 400 KB an item'), /breaks the limit of 400 KB/],
  ])('and whose content cannot be stored is refused with the reason: %s', async (error, reason) => {
    const { tables, report } = reportOn(ROW);
    tables.putContent = () => Promise.reject(error);
    await expect(report()).rejects.toMatchObject({ problem: 'conflict', message: expect.stringMatching(reason) });
    expect(tables.log.get('log-1')).toEqual(ROW);
  });

  it('and that the indexer takes in at that moment is not written, and the report is to be repeated', async () => {
    const { tables, report } = reportOn(ROW);
    tables.putContent = async () => undefined;
    await expect(report()).rejects.toMatchObject({ problem: 'unavailable' });
    expect(tables.log.get('log-1')).toEqual(ROW);
  });

  it('takes it in at once, as the indexer does, and has it retried', async () => {
    const { tables, report, content } = reportOn(ROW, at(-5_000));
    expect(await report()).toMatchObject({ log_id: 'log-1', status: 'retrying', repeat: false });
    const row = tables.log.get('log-1');
    expect(row).toMatchObject({
      send_status: 'RETRY',
      channel: 'webhook',
      priority: 'normal',
      send_attempts: 1,
      last_attempt: 0,
      first_attempt_at: iso(-5_000),
      work_queue: expect.stringMatching(/^due#normal#/),
      recipient_hash: expect.any(String),
      history_bucket: expect.any(String),
    });
    for (const column of ['recipient_address', 'message_body']) expect(row).not.toHaveProperty(column);
    expect(content).toEqual([
      { log_id: 'log-1', tenant_id: 'tenant-1', attempts_before: 1, expires_at: row?.['expires_at'], sequence: '0' },
    ]);
    expect(tables.content.get('log-1')).toMatchObject({ recipient: 'https://example.com/hook', body: 'Hello' });
    expect([...tables.retryLog.values()]).toMatchObject([
      { retry_attempt: 0, retry_at: iso(-5_000), error_type: 'SERVER_OVERLOAD' },
    ]);
  });

  it('counts its window from the first attempt that its writer gives', async () => {
    const { tables, report } = reportOn({ ...ROW, first_attempt_at: iso(-60_000) });
    await report();
    expect(tables.log.get('log-1')?.['first_attempt_at']).toBe(iso(-60_000));
  });

  const { recipient_address: _, message_body: __, message_format: ___, ...bare } = ROW;
  it.each([
    ['is malformed', { ...ROW, notification_type: 'FAX' }, /^The failure is not recorded: .*notification_type/],
    ['has no content', bare, 'The failure is not recorded: it has neither recipient nor body.'],
    ['is deleted', { ...ROW, is_deleted: true }, 'The failure is not recorded: its writer deleted the notification.'],
  ])('that %s is a conflict, and changes nothing', async (_, row, message) => {
    const { tables, report, content } = reportOn(row);
    await expect(report()).rejects.toThrow(message);
    expect(tables.log.get('log-1')).toEqual(row);
    expect([content, tables.retryLog.size]).toEqual([[], 0]);
  });

  it('whose content is stored already, and in the row again, is a conflict', async () => {
    const { tables, report } = reportOn(ROW);
    const stored = { recipient: 'https://example.com/old', body: 'Old', format: 'PLAIN' } as const;
    await tables.putContent({ log_id: 'log-1', tenant_id: 'tenant-1', expires_at: 9e9, sequence: '1' }, stored);
    await expect(report()).rejects.toThrow('The failure is not recorded: its content was written again.');
    expect(tables.log.get('log-1')).toEqual(ROW);
  });

  it('whose content is stored already, and not in the row, is left to the indexer: another life begins', async () => {
    const { tables, report, content } = reportOn(bare);
    const stored = { recipient: 'https://example.com/hook', body: 'Hello', format: 'PLAIN' } as const;
    await tables.putContent({ log_id: 'log-1', tenant_id: 'tenant-1', expires_at: 9e9, sequence: '1' }, stored);
    await expect(report()).rejects.toThrow('the notification is being taken in. Report it again.');
    expect([content, tables.retryLog.size]).toEqual([[], 0]);
  });
});
