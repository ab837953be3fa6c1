import { describe, expect, it } from 'vitest';
import { importedRow, WRITER_COLUMNS } from '../../../src/core/indexing/imported-row.ts';
import { CHANNELS } from '../../../src/core/model/channels.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { writerPolicy } from '../../../tools/smoke/writer.ts';

const terms = {
  tenant_id: 'T1',
  now: new Date('2026-03-01T10:00:00.000Z'),
  policy: DEFAULT_RETRY_POLICY,
  channels: CHANNELS,
};
/** As the sample data of his-notification-log-table.md writes it: `id`, NULL, times without a zone. */
const given = {
  id: 'NL900',
  tenant_id: 'T1',
  notification_type: 'SLACK',
  recipient_type: 'CHANNEL',
  recipient_address: '#general',
  subject: null,
  message_body: 'Hello',
  message_format: 'MARKDOWN',
  send_status: 'FAILED',
  send_attempts: 3,
  max_retry_count: 3,
  scheduled_at: '2026-02-28 09:00:00',
  sent_at: null,
  response_code: '404',
  error_details: '{"error":"channel_not_found"}',
  integration_config_id: 'IC001',
  priority_level: 'HIGH',
};
const read = (changes: object = {}) => importedRow({ ...given, ...changes }, terms);
const rowOf = (changes: object = {}) => {
  const one = read(changes);
  return one.is === 'row' ? one.row : one;
};

describe('a row of another database', () => {
  it('has its id as log_id, and nothing of what is NULL', () => {
    const { id: _, subject: __, sent_at: ___, ...rest } = given;
    expect(read()).toMatchObject({ is: 'row', plan: { do: 'index' }, left_out: [] });
    expect(rowOf()).toEqual({ ...rest, log_id: 'NL900' });
    expect(rowOf({ log_id: 'NL1' })).toMatchObject({ log_id: 'NL1' });
  });

  it.each([
    [{ is_deleted: 1 }, { is_deleted: true }],
    [{ is_deleted: '0' }, { is_deleted: false }],
    [
      { send_attempts: '2', max_retry_count: '3' },
      { send_attempts: 2, max_retry_count: 3 },
    ],
    [{ error_details: { error: 'x' } }, { error_details: '{"error":"x"}' }],
    [{ tenant_id: null }, { tenant_id: 'T1' }],
  ])('is taken as exports write it: %o', (changes, taken) => expect(rowOf(changes)).toMatchObject(taken));

  it('leaves out what only the pipeline writes, and what the table document does not have', () => {
    const one = read({ work_queue: 'due#urgent#0', claim_until: '2099-01-01T00:00:00.000Z', colour: 'red' });
    expect(one).toMatchObject({ is: 'row', left_out: ['work_queue', 'claim_until', 'colour'] });
    expect(rowOf({ work_queue: 'due#urgent#0' })).not.toHaveProperty('work_queue');
  });

  it.each([
    ['no id', { id: null }, 'log_id', 'NOT NULL'],
    ['an empty id', { id: '' }, 'id', 'NOT NULL'],
    ['an empty tenant', { tenant_id: '' }, 'tenant_id', 'NOT NULL'],
    ['half an emoji', { message_body: 'a\ud83d' }, 'message_body', 'Unicode'],
    ['an unknown channel', { notification_type: 'FAX' }, 'notification_type', 'chk_notification_log_type'],
    ['too many attempts', { send_attempts: 9 }, 'send_attempts', 'chk_notification_log_attempts_limit'],
    ['a count that is no number', { send_attempts: 'many' }, 'send_attempts', 'chk_notification_log_attempts_positive'],
    ['no recipient', { recipient_address: null }, 'recipient_address', 'NOT NULL'],
    ['half of a content', { send_status: 'SUCCESS', message_body: null }, 'message_body', 'NOT NULL'],
    ['a day that does not exist', { sent_at: '2026-02-30 09:00:00' }, 'sent_at', 'TIMESTAMP'],
    ['more than an item holds', { message_body: 'x'.repeat(410_000) }, '', '400 KB'],
    [
      'an age of more than two years',
      { send_status: 'SUCCESS', created_at: '2023-01-01 00:00:00' },
      'created_at',
      '2 years',
    ],
  ])('with %s is set aside', (_, changes, column, rule) => {
    expect(read(changes)).toMatchObject({ is: 'faulty', faults: [expect.objectContaining({ column, rule })] });
  });

  it.each([null, 'NL1', [given], 7])('that is %o is none', (value) => {
    expect(importedRow(value, terms)).toMatchObject({ is: 'faulty', faults: [{ rule: 'JSON' }] });
  });

  it('that was delivered needs no content, and is kept', () => {
    const kept = { send_status: 'SUCCESS', recipient_address: null, message_body: null };
    expect(read(kept)).toMatchObject({ is: 'row', plan: { do: 'history' } });
  });

  it('of another tenant is left to an import of that one', () => {
    expect(read({ tenant_id: 'T2' })).toEqual({ is: 'of_another_tenant' });
  });
});

it('takes the columns that the documented policy lets writers write, but for a reason to give up', () => {
  const documented = writerPolicy().Condition['ForAllValues:StringEquals']['dynamodb:Attributes'];
  expect([...WRITER_COLUMNS, 'failure_reason'].sort()).toEqual([...documented].sort());
});
