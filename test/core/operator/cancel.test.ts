import { expect, it } from 'vitest';
import { cancel } from '../../../src/core/operator/cancel.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { recordOf } from '../../support/delivery-events.ts';
import { at, dueRow, iso } from '../../support/rows.ts';

it.each([
  ['its own: it was delivered', 'mine', 'ended', { retry_status: 'SUCCESS', claim_id: 'mine' }],
  [
    'of a row that its writer has put anew since: it was never sent',
    'theirs',
    'cancelled',
    { retry_status: 'FAILED', claim_id: 'mine', failure_reason: 'CANCELLED' },
  ],
])(
  'cancels what a crashed worker had claimed by the record of that claim, if it is %s',
  async (_, of, result, kept) => {
    const tables = new MemoryTables(() => at(70_000));
    const claim = { send_status: 'SENDING', claim_until: iso(65_000), claim_id: 'mine' } as const;
    const row = dueRow({ ...claim, last_attempt: 1 });
    tables.log.set(row.log_id, { ...row });
    await tables.records.putIfAbsent({ ...recordOf(1), claim_id: of });
    const deps = { rows: tables.operatorRows, records: tables.records, clock: () => at(70_000) };
    expect(await cancel([row.log_id], 'manual-1', deps)).toMatchObject([{ result }]);
    expect(tables.retryLog.get('log-1#1')).toMatchObject(kept);
  },
);

it('leaves what an event shows to have arrived while it is cancelled: the worker that crashed had sent it again', async () => {
  const tables = new MemoryTables(() => at(70_000));
  const row = dueRow({ send_status: 'SENDING', claim_until: at(65_000).toISOString(), last_attempt: 1 });
  tables.log.set(row.log_id, { ...row });
  const find: typeof tables.records.find = async (...attempt) => {
    await tables.eventRows.change(row, { set: { delivery_by_attempt: { 0: 'delivered' } } });
    return tables.records.find(...attempt);
  };
  const deps = { rows: tables.operatorRows, records: { ...tables.records, find }, clock: () => at(70_000) };
  expect(await cancel([row.log_id], 'manual-1', deps)).toMatchObject([{ result: 'ended' }]);
  expect(tables.row(row.log_id)).toMatchObject({ send_status: 'SUCCESS' });
});

it('cancels what a worker has handed on to the fallback channel that crashed before it settled the row', async () => {
  const tables = new MemoryTables(() => at(70_000));
  const claim = { send_status: 'SENDING', claim_until: iso(65_000), claim_id: 'mine' } as const;
  const rows = [
    dueRow({ ...claim, last_attempt: 1, fallback_channel: 'slack' }),
    dueRow({ log_id: 'log-1-fallback', predecessor_log_id: 'log-1' }),
  ];
  for (const row of rows) tables.log.set(row.log_id, { ...row });
  await tables.records.putIfAbsent({ ...recordOf(1, 'NETWORK_TIMEOUT'), claim_id: 'mine' });
  const deps = { rows: tables.operatorRows, records: tables.records, clock: () => at(70_000) };
  expect(await cancel(['log-1'], 'manual-1', deps)).toEqual([{ log_id: 'log-1', result: 'cancelled' }]);
  for (const { log_id } of rows)
    expect(tables.row(log_id)).toMatchObject({ send_status: 'FAILED', failure_reason: 'CANCELLED' });
});

it('says that what was handed on goes on under a worker, and cancels it when it is asked again after that', async () => {
  let now = at(70_000);
  const tables = new MemoryTables(() => now);
  const claim = { send_status: 'SENDING', claim_until: iso(65_000), claim_id: 'mine' } as const;
  const rows = [
    dueRow({ ...claim, last_attempt: 1, fallback_channel: 'slack' }),
    dueRow({ ...claim, log_id: 'log-1-fallback', predecessor_log_id: 'log-1', claim_until: iso(90_000) }),
  ];
  for (const row of rows) tables.log.set(row.log_id, { ...row });
  await tables.records.putIfAbsent({ ...recordOf(1, 'NETWORK_TIMEOUT'), claim_id: 'mine' });
  const deps = { rows: tables.operatorRows, records: tables.records, clock: () => now };
  const because = expect.stringMatching(/^its successor log-1-fallback: an attempt is under way/);
  expect(await cancel(['log-1'], 'manual-1', deps)).toEqual([{ log_id: 'log-1', result: 'cancelled', because }]);
  expect(await cancel(['log-1'], 'manual-2', deps)).toEqual([{ log_id: 'log-1', result: 'ended', because }]);
  now = at(95_000);
  expect(await cancel(['log-1'], 'manual-3', deps)).toMatchObject([{ because: 'it was given up already: CANCELLED' }]);
  expect(tables.row('log-1-fallback')).toMatchObject({ send_status: 'FAILED', failure_reason: 'CANCELLED' });
});
