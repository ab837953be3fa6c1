import { expect, it, vi } from 'vitest';
import { dropDeadLetter } from '../../../../src/core/operator/dead-letters/dead-letter.ts';
import { MemoryTables } from '../../../../tools/simulation/twins/memory-tables.ts';
import { dueRow, iso, messageFor, T0 } from '../../../support/rows.ts';

const letter = (row = dueRow()) => ({ message: messageFor(row), message_id: 'letter', sent_at: T0, receive_count: 5 });

it.each([
  ['takes its notification off the list, also where an event is noted on the row meanwhile', { 2: 'bounced' }, {}],
  ['leaves the row that is revived meanwhile', {}, { work_queue: 'due#normal#0', send_status: 'RETRY' }],
] as const)('a letter that is dropped %s', async (_, noted, revived) => {
  const tables = new MemoryTables(() => T0);
  const row = dueRow({
    send_status: 'FAILED',
    failure_reason: 'MAX_RETRIES',
    dead_message_id: 'letter',
    work_queue: 'dead#normal#0',
    delivery_by_attempt: { 1: 'soft_bounced' },
  });
  tables.log.set(row.log_id, { ...row });
  vi.spyOn(tables.operatorRows, 'read').mockImplementationOnce(async () => {
    const meanwhile = { delivery_by_attempt: { 1: 'soft_bounced', ...noted }, bounced_at: iso(), ...revived } as const;
    tables.log.set(row.log_id, { ...row, ...meanwhile });
    return row;
  });
  await dropDeadLetter(letter(row), tables.operatorRows, T0);
  expect(tables.row(row.log_id)?.work_queue).toBe(Object.keys(revived).length > 0 ? 'due#normal#0' : undefined);
});

it('a letter stays whose row others keep changing', async () => {
  const tables = new MemoryTables(() => T0);
  const row = dueRow({ send_status: 'FAILED', dead_message_id: 'letter', work_queue: 'dead#normal#0' });
  tables.log.set(row.log_id, { ...row });
  vi.spyOn(tables.operatorRows, 'change').mockResolvedValue(false);
  expect(await dropDeadLetter(letter(row), tables.operatorRows, T0)).toBe(false);
});
