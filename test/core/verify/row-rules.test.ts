import { describe, expect, it } from 'vitest';
import { planIndex } from '../../../src/core/indexing/index-plan.ts';
import { ERROR_TYPES } from '../../../src/core/model/error-types.ts';
import { type ForeignRow, UPDATED_BY } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import {
  accountOf,
  isSetAsideInTheClear,
  REASONS,
  rowFaults,
  type Stored,
} from '../../../src/core/verify/rules/row-rules.ts';
import { at, dueRow, T0 } from '../../support/rows.ts';

const HOUR = 3_600_000;
const NOW = T0.getTime();
const faultsOf = (row: Stored) => rowFaults(row, { shards: 8 }, NOW);

/** The sample rows of his-notification-log-table.md. */
const DELIVERED = {
  ...{
    log_id: 'NL001',
    tenant_id: 'TENANT001',
    notification_id: 'NOTIF001',
    setting_id: 'NS001',
    template_id: 'NT001',
  },
  ...{ notification_type: 'EMAIL', recipient_type: 'USER', recipient_address: 'yamada.taro@company.com' },
  ...{ subject: '【スキル更新】山田太郎さんのスキル情報が更新されました', message_body: '山田太郎さん' },
  ...{ message_format: 'PLAIN', send_status: 'SUCCESS', send_attempts: 1, max_retry_count: 3 },
  ...{ scheduled_at: '2025-06-01 10:30:00', sent_at: '2025-06-01 10:30:15', delivered_at: '2025-06-01 10:30:45' },
  ...{ opened_at: '2025-06-01 11:15:30', response_code: '250', response_message: 'Message accepted for delivery' },
  ...{ error_details: null, integration_config_id: 'IC003', priority_level: 'MEDIUM' },
};
const FAILED = {
  ...{
    log_id: 'NL002',
    tenant_id: 'TENANT001',
    notification_id: 'NOTIF002',
    setting_id: 'NS002',
    template_id: 'NT002',
  },
  ...{ notification_type: 'SLACK', recipient_type: 'CHANNEL', recipient_address: '#notifications', subject: null },
  ...{ message_body: ':warning: *目標期限のお知らせ* :warning:', message_format: 'MARKDOWN', send_status: 'FAILED' },
  ...{ send_attempts: 3, max_retry_count: 3, scheduled_at: '2025-06-01 09:00:00', sent_at: null, delivered_at: null },
  ...{ opened_at: null, response_code: '404', response_message: 'channel_not_found' },
  ...{ error_details: '{"error": "channel_not_found"}', integration_config_id: 'IC001', priority_level: 'HIGH' },
};

/** The row as the indexer leaves it. */
function takenIn(row: ForeignRow): Stored {
  const plan = planIndex(row, T0, DEFAULT_RETRY_POLICY);
  if (plan.do === 'ignore') return row;
  const kept = Object.entries(row).filter(([column]) => !plan.remove.includes(column));
  return { ...Object.fromEntries(kept), ...plan.set };
}

describe('of the rows of others', () => {
  it.each([
    ['delivered by its writer', DELIVERED, 'delivered'],
    ['failed at its writer', FAILED, 'waiting'],
    ['set aside', { ...FAILED, notification_type: 'FAX' }, 'stopped'],
  ])('one %s breaks no rule', (_, row, account) => {
    const stored = takenIn(row);
    expect(faultsOf(stored)).toEqual([]);
    expect(accountOf(stored, NOW)).toBe(account);
  });

  it('one with more attempts than its priority has today is taken in, and breaks no rule', () => {
    const { max_retry_count: _, ...row } = { ...FAILED, priority: 'info', send_attempts: 6 };
    expect(faultsOf(takenIn(row))).toEqual([]);
  });

  it('malformed content that is left for its writer is said, and breaks no rule', () => {
    const stored = takenIn({ ...FAILED, message_body: 7 });
    expect(stored).toMatchObject({ failure_reason: 'FORMAT_ERROR', message_body: 7 });
    expect(faultsOf(stored)).toEqual([]);
    expect(isSetAsideInTheClear(stored)).toBe(true);
    const waiting = { ...dueRow(), updated_by: UPDATED_BY, message_body: 'words' };
    expect(isSetAsideInTheClear(waiting)).toBe(false);
    expect(faultsOf(waiting)).toEqual(['14: content is left in the clear']);
  });

  it('one with a reason of its own is work, and lost where nobody comes back to it', () => {
    const { work_queue: _, work_at: __, ...row } = dueRow();
    expect(accountOf({ ...row, failure_reason: 'MAX_RETRIES', updated_by: UPDATED_BY }, NOW)).toBe('stopped');
    expect(accountOf({ ...row, failure_reason: 'MAX_RETRIES', work_at: T0.toISOString() }, NOW)).toBe('stopped');
    expect(accountOf({ ...row, failure_reason: 'MAX_RETRIES', updated_by: 'BATCH-951' }, NOW)).toBeUndefined();
    expect(accountOf({ ...row, failure_reason: 'mailbox full', updated_by: UPDATED_BY }, NOW)).toBeUndefined();
    expect(REASONS).toEqual(expect.arrayContaining([...ERROR_TYPES]));
    expect(REASONS).toHaveLength(ERROR_TYPES.length);
  });

  it('one that its writer sends is in flight for its hour and until the reconciler comes, and lost after that', () => {
    const sending = (hours: number) => ({
      log_id: 'n',
      send_status: 'SENDING',
      updated_at: at(-hours * HOUR).toISOString(),
    });
    expect(accountOf(sending(24.9), NOW)).toBe('in_flight');
    expect(accountOf(sending(37), NOW)).toBeUndefined();
    expect(accountOf({ ...sending(37), is_deleted: true }, NOW)).toBe('cancelled');
    expect(accountOf({ ...sending(1), claim_id: 'c' }, NOW)).toBeUndefined();
    expect(accountOf({ log_id: 'n', send_status: 'SENDING', created_at: '2025-06-01 10:30:45' }, NOW)).toBeUndefined();
  });
});

describe('attempts', () => {
  it.each([
    ['an integration allowed more', { send_attempts: 9, attempts_left: 2, last_attempt: 8 }],
    [
      'the configuration was lowered since',
      { priority: 'info', work_queue: 'due#info#0', send_attempts: 6, last_attempt: 5 },
    ],
    ['some did not count', { send_attempts: 2, last_attempt: 40 }],
  ])('may be more than today where %s', (_, changes) => {
    expect(faultsOf({ ...dueRow(), ...changes })).toEqual([]);
  });

  it.each([
    ['attempts left below none', { attempts_left: -1 }, '4: more attempts than its limit allows'],
    [
      'its own limit',
      { send_attempts: 5, last_attempt: 4, max_retry_count: 3 },
      '4: more attempts than its limit allows',
    ],
    ['numbers that were never given', { send_attempts: 3 }, '4: it counts more attempts than were made'],
  ])('break rule 4 by %s', (_, changes, fault) => {
    expect(faultsOf({ ...dueRow(), ...changes })).toEqual([fault]);
  });
});

describe('delivered_at', () => {
  const delivered = { send_status: 'SUCCESS', work_queue: undefined, work_at: undefined };
  const contradicts = ['5: delivered_at contradicts its events'];

  it('is what the events say, where there are any', () => {
    const seen = { ...dueRow(), ...delivered, delivery_by_attempt: { 0: 'delivered' } };
    expect(faultsOf({ ...seen, delivered_at: T0.toISOString() })).toEqual([]);
    expect(faultsOf({ ...seen, delivered_at: null })).toEqual(contradicts);
    expect(faultsOf({ ...dueRow(), delivery_by_attempt: { 0: 'bounced' }, delivered_at: 'x' })).toEqual(contradicts);
  });

  it("is an event's, where every attempt was made here", () => {
    const row = { ...dueRow(), ...delivered, created_by: 'intake-api' };
    expect(faultsOf(row)).toEqual([]);
    expect(faultsOf({ ...row, delivered_at: T0.toISOString() })).toEqual(contradicts);
  });
});
