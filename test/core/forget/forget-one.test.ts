import { expect, it } from 'vitest';
import { CLAIM_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import { erasure, forgetOne } from '../../../src/core/forget/forget-one.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

const ADDRESS = 'ann@example.com';

function forgetting(row: object, ms = 0) {
  const clock = () => at(ms);
  const tables = new MemoryTables(clock);
  tables.log.set('log-1', { ...dueRow(), ...row });
  const { forgetRows: rows, records, erasable } = tables;
  const names = (value: unknown) => JSON.stringify(value).includes(ADDRESS);
  return { tables, forgotten: forgetOne('log-1', 'manual-1', names, { rows, records, erasable, clock }) };
}

const claimed = { send_status: 'SENDING', claim_id: 'c', last_attempt: 1, claim_until: iso(CLAIM_MS) };
const malformed = { ...claimed, redrive_count: 'often' };
const expired = { ...malformed, claim_until: iso(-60_000) };
const shown = { delivery_by_attempt: { 0: 'delivered' }, delivered_at: iso(-1_000) };

it('leaves a claim to its holder, also of a row that its writer has spoilt', async () => {
  const { tables, forgotten } = forgetting(malformed);
  expect(await forgotten).toMatchObject({ result: 'claimed' });
  expect(tables.log.get('log-1')).toMatchObject({ ...malformed, is_deleted: true, work_queue: dueRow().work_queue });
  expect(tables.content.get('log-1')).toBeUndefined();
});

it('concludes the attempt of a worker that crashed, before it erases a row that its writer has spoilt', async () => {
  const { tables, forgotten } = forgetting(expired);
  expect(await forgotten).toMatchObject({ result: 'erased' });
  expect(tables.log.get('log-1')).toMatchObject({ failure_reason: 'FORMAT_ERROR', erased_at: iso() });
  expect([...tables.retryLog.values()]).toMatchObject([{ retry_attempt: 1, failure_reason: 'FORMAT_ERROR' }]);
});

it('gives a row that was never taken in an end of two years, and leaves one that has an end', async () => {
  const foreign = { work_queue: undefined, work_at: undefined, recipient_address: ADDRESS };
  const { tables, forgotten } = forgetting(foreign);
  expect(await forgotten).toMatchObject({ result: 'cancelled' });
  expect(tables.log.get('log-1')).toMatchObject({ expires_at: T0.getTime() / 1000 + 730 * 86_400 });
  const known = forgetting({ expires_at: 1_900_000_000 });
  await known.forgotten;
  expect(known.tables.log.get('log-1')).toMatchObject({ erased_at: iso(), expires_at: 1_900_000_000 });
});

it('erases the address from columns of words, where its writer has put no word, also beside a change of them', async () => {
  const words = { priority: ADDRESS, error_type: ADDRESS, failure_reason: ADDRESS, send_status: ADDRESS };
  const { work_queue: _, ...row } = { ...dueRow(), ...words, channel: ADDRESS, give_up: ADDRESS };
  const { tables, forgotten } = forgetting({ ...row, work_queue: undefined });
  expect(await forgotten).toMatchObject({ result: 'erased' });
  expect(JSON.stringify(tables.log.get('log-1'))).not.toContain(ADDRESS);
});

it.each([
  [{ send_status: ADDRESS, give_up: ADDRESS }, ['give_up']],
  [{ fallback_channel: 'email', channel: ADDRESS }, ['channel']],
])('names no column twice in a change, which DynamoDB refuses: %j', (columns, names) => {
  const row = { ...dueRow(), ...columns } as never;
  const { change } = erasure(row, 'due', T0, (value) => value === ADDRESS);
  const { set = {}, remove = [] } = change ?? {};
  expect(remove).toEqual(expect.arrayContaining(names));
  expect([...Object.keys(set), ...remove]).toHaveLength(new Set([...Object.keys(set), ...remove]).size);
});

it.each([
  ['waits for a retry', { send_status: 'RETRY', ...shown }],
  ['is abandoned', { ...claimed, claim_until: iso(-1_000), ...shown }],
  ['is abandoned and spoilt', { ...expired, ...shown }],
  ['is spoilt', { redrive_count: 'often', ...shown }],
])('leaves what has arrived as delivered, where its row %s', async (_, row) => {
  const { tables, forgotten } = forgetting(row);
  expect(await forgotten).toMatchObject({ result: 'erased' });
  const stored = tables.log.get('log-1');
  expect(stored).toMatchObject({ send_status: 'SUCCESS', sent_at: shown.delivered_at, erased_at: iso() });
  expect(stored).not.toHaveProperty('failure_reason');
  expect(stored).not.toHaveProperty('work_queue');
  for (const record of tables.retryLog.values()) expect(record).not.toHaveProperty('failure_reason');
});
