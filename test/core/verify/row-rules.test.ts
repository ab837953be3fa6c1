import { describe, expect, it } from 'vitest';
import { GIVEN_UP } from '../../../src/core/delivery/transitions/without-attempt.ts';
import { planIndex } from '../../../src/core/indexing/index-plan.ts';
import { ERROR_TYPES } from '../../../src/core/model/error-types.ts';
import { type ForeignRow, UPDATED_BY } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { recordFaults } from '../../../src/core/verify/rules/record-rules.ts';
import {
  accountOf,
  type Fault,
  isLeftToItsWriter,
  isOnItsWay,
  REASONS,
  rowViolations,
  type Stored,
} from '../../../src/core/verify/rules/row-rules.ts';
import { dueRow, iso, T0 } from '../../support/rows.ts';

const HOUR = 3_600_000;
const NOW = T0.getTime();
const inWords = ({ rule, says }: Fault) => `${rule}: ${says}`;
const faultsOf = (row: Stored) => rowViolations(row, { shards: 8 }, NOW).map(inWords);
const lacksOf = (...given: Parameters<typeof recordFaults>) => recordFaults(...given).map(inWords);

/** The sample rows of his-notification-log-table.md. */
const DELIVERED = {
  log_id: 'NL001',
  tenant_id: 'TENANT001',
  notification_id: 'NOTIF001',
  setting_id: 'NS001',
  template_id: 'NT001',
  notification_type: 'EMAIL',
  recipient_type: 'USER',
  recipient_address: 'yamada.taro@company.com',
  subject: '【スキル更新】山田太郎さんのスキル情報が更新されました',
  message_body: '山田太郎さん',
  message_format: 'PLAIN',
  send_status: 'SUCCESS',
  send_attempts: 1,
  max_retry_count: 3,
  scheduled_at: '2025-06-01 10:30:00',
  sent_at: '2025-06-01 10:30:15',
  delivered_at: '2025-06-01 10:30:45',
  opened_at: '2025-06-01 11:15:30',
  response_code: '250',
  response_message: 'Message accepted for delivery',
  error_details: null,
  integration_config_id: 'IC003',
  priority_level: 'MEDIUM',
};
const FAILED = {
  log_id: 'NL002',
  tenant_id: 'TENANT001',
  notification_id: 'NOTIF002',
  setting_id: 'NS002',
  template_id: 'NT002',
  notification_type: 'SLACK',
  recipient_type: 'CHANNEL',
  recipient_address: '#notifications',
  subject: null,
  message_body: ':warning: *目標期限のお知らせ* :warning:',
  message_format: 'MARKDOWN',
  send_status: 'FAILED',
  send_attempts: 3,
  max_retry_count: 3,
  scheduled_at: '2025-06-01 09:00:00',
  sent_at: null,
  delivered_at: null,
  opened_at: null,
  response_code: '404',
  response_message: 'channel_not_found',
  error_details: '{"error": "channel_not_found"}',
  integration_config_id: 'IC001',
  priority_level: 'HIGH',
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

  const malformed: readonly (readonly [string, ForeignRow])[] = [
    ['set aside', { ...FAILED, message_body: 7 }],
    ['delivered by its writer', { ...DELIVERED, message_body: '' }],
    ['delivered, with a subject that is too long', { ...DELIVERED, subject: 'x'.repeat(501) }],
    ['delivered to nobody', { ...DELIVERED, recipient_address: null }],
    ['delivered for no tenant', { ...DELIVERED, tenant_id: null }],
    ['deleted', { ...FAILED, is_deleted: true, message_format: 'RTF' }],
    ['given up, and edited since', { ...FAILED, failure_reason: 'MAX_RETRIES', work_at: iso(), message_body: null }],
  ];
  it.each(malformed)('malformed content that the indexer leaves is said, and breaks no rule: %s', (_, row) => {
    const stored = takenIn(row);
    expect(takenIn(stored as ForeignRow)).toEqual(stored);
    expect(isLeftToItsWriter(stored)).toBe(true);
    expect(faultsOf(stored)).toEqual([]);
  });

  it.each([
    ['waiting', { ...dueRow(), updated_by: UPDATED_BY, message_body: 'words' }],
    ['delivered', { ...DELIVERED, history_bucket: 'b' }],
    ['deleted', { ...FAILED, is_deleted: true }],
    ['given up', { ...FAILED, failure_reason: 'EXPIRED', work_at: iso() }],
  ])('content that the indexer takes, and has not, breaks rule 14: %s', (_, row) => {
    expect(isLeftToItsWriter(row)).toBe(false);
    expect(faultsOf(row)).toEqual(['14: content is left in the clear']);
  });

  it('one that others wrote a moment ago is on its way by the stream for a quarter of an hour', () => {
    const written = (minutes: number) => ({ ...FAILED, updated_at: iso(-minutes * 60_000) });
    expect(isOnItsWay(written(14), NOW)).toBe(true);
    expect(isOnItsWay(written(16), NOW)).toBe(false);
    // Its writer's clock is ahead by a day: nobody knows when it was written.
    expect(isOnItsWay({ ...FAILED, updated_at: iso(24 * HOUR) }, NOW)).toBe(false);
    expect(isOnItsWay({ ...written(1), history_bucket: 'b' }, NOW)).toBe(false);
    expect(isOnItsWay({ ...written(1), claim_id: 'c' }, NOW)).toBe(false);
  });

  it('one with a reason of its own is work, and lost where nobody comes back to it', () => {
    const { work_queue: _, work_at: __, ...row } = dueRow();
    expect(accountOf({ ...row, failure_reason: 'MAX_RETRIES', updated_by: UPDATED_BY }, NOW)).toBe('stopped');
    expect(accountOf({ ...row, failure_reason: 'MAX_RETRIES', work_at: iso() }, NOW)).toBe('stopped');
    expect(accountOf({ ...row, failure_reason: 'MAX_RETRIES', updated_by: 'BATCH-951' }, NOW)).toBeUndefined();
    expect(accountOf({ ...row, failure_reason: 'mailbox full', updated_by: UPDATED_BY }, NOW)).toBeUndefined();
    expect(REASONS).toEqual(expect.arrayContaining([...ERROR_TYPES]));
    expect(REASONS).toHaveLength(ERROR_TYPES.length);
  });

  it('one that its writer sends is in flight for its hour and until the reconciler comes, and lost after that', () => {
    const sending = (hours: number) => ({ log_id: 'n', send_status: 'SENDING', updated_at: iso(-hours * HOUR) });
    expect(accountOf(sending(24.9), NOW)).toBe('in_flight');
    expect(accountOf(sending(37), NOW)).toBeUndefined();
    expect(accountOf({ ...sending(37), is_deleted: true }, NOW)).toBe('cancelled');
    expect(accountOf({ ...sending(1), claim_id: 'c' }, NOW)).toBeUndefined();
    expect(accountOf({ log_id: 'n', send_status: 'SENDING', created_at: '2025-06-01 10:30:45' }, NOW)).toBeUndefined();
  });
});

describe('of what is lost', () => {
  const dead = {
    ...dueRow(),
    failure_reason: 'MAX_RETRIES',
    work_queue: 'dead#normal#1',
    dead_message_id: 'm',
    dead_run_id: 'r',
  };

  it('a dead row that left the list and remembers its letter is named; one that was dropped is not', () => {
    expect(faultsOf(dead)).toEqual([]);
    expect(accountOf({ ...dead, work_queue: undefined }, NOW)).toBeUndefined();
    const dropped = Object.fromEntries(
      Object.entries(dead).filter(([column]) => !(GIVEN_UP.remove as readonly string[]).includes(column)),
    );
    expect(accountOf({ ...dropped, updated_by: UPDATED_BY }, NOW)).toBe('stopped');
    expect(accountOf({ ...dead, work_queue: undefined, dead_message_id: '', dead_run_id: '' }, NOW)).toBe('stopped');
  });

  it('a row that DynamoDB deletes before it is due is named', () => {
    const due = Date.parse('2027-01-01T00:00:00Z');
    const row = { ...dueRow(), work_at: new Date(due).toISOString() };
    expect(faultsOf({ ...row, expires_at: due / 1_000 + 1 })).toEqual([]);
    expect(faultsOf({ ...row, expires_at: due / 1_000 - 1 })).toEqual(['1: it expires before it is due']);
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
  ])('may be more than today where %s', (_, changes) => expect(faultsOf({ ...dueRow(), ...changes })).toEqual([]));

  it.each([
    ['attempts left below none', { attempts_left: -1 }, '4: more attempts than its limit allows'],
    [
      'its own limit',
      { send_attempts: 5, last_attempt: 4, max_retry_count: 3 },
      '4: more attempts than its limit allows',
    ],
    ['numbers that were never given', { send_attempts: 3 }, '4: it counts more attempts than were made'],
  ])('break rule 4 by %s', (_, changes, fault) => expect(faultsOf({ ...dueRow(), ...changes })).toEqual([fault]));
});

describe('delivered_at', () => {
  const delivered = { send_status: 'SUCCESS', work_queue: undefined, work_at: undefined };
  const contradicts = ['5: delivered_at contradicts its events'];

  it('is what the events say, where there are any', () => {
    const seen = { ...dueRow(), ...delivered, delivery_by_attempt: { 0: 'delivered' } };
    expect(faultsOf({ ...seen, delivered_at: iso() })).toEqual([]);
    expect(faultsOf({ ...seen, delivered_at: null })).toEqual(contradicts);
    expect(faultsOf({ ...dueRow(), delivery_by_attempt: { 0: 'bounced' }, delivered_at: 'x' })).toEqual(contradicts);
  });

  it("is an event's, where every attempt was made here", () => {
    const row = { ...dueRow(), ...delivered, created_by: 'intake-api' };
    expect(faultsOf(row)).toEqual([]);
    expect(faultsOf({ ...row, delivered_at: iso() })).toEqual(contradicts);
  });
});

describe('what an event shows', () => {
  const row = { ...dueRow(), delivery_by_attempt: { 0: 'seen' }, delivered_at: iso(), last_attempt: 0 };
  const records = [{ retry_attempt: 0, retry_status: 'FAILED' }];
  const at = (ms: number) => ({ ...row, updated_at: iso(-ms) });

  it.each([
    ['a moment ago', 1_000],
    ['15 minutes ago, but for a second', 899_000],
  ])('%s may be written into the record yet, and a worker may end the row', (_, ms) => {
    expect(faultsOf(at(ms))).toEqual([]);
    expect(lacksOf(at(ms), records, 0, NOW)).toEqual([]);
    expect(lacksOf({ ...at(ms), last_attempt: 1 }, records, 0, NOW)).toEqual(['6: attempt 1 has no record']);
  });

  it('15 minutes ago is told, or the row and the record contradict it', () => {
    expect(faultsOf(at(900_000))).toEqual(['5: it has arrived, and is not SUCCESS']);
    const contradicts = ['6: attempt 0 is FAILED, and was seen'];
    expect(lacksOf(at(900_000), records, 0, NOW)).toEqual(contradicts);
    expect(lacksOf(row, records, 0, NOW)).toEqual(contradicts);
    expect(lacksOf(at(1_000), records, 0)).toEqual(contradicts);
  });
});

it('a row that was put anew, and not attempted since, lacks no record, though its former life had a claim', () => {
  const row = { ...dueRow(), life: 3, last_attempt: 2, send_attempts: 0, claim_id: '' };
  expect(lacksOf(row, [{ retry_attempt: 1, retry_status: 'FAILED' }], undefined)).toEqual([]);
  expect(lacksOf({ ...row, last_attempt: 3 }, [], undefined)).toEqual(['6: attempt 3 has no record']);
});

it('no record is asked of a life that has made no attempt, nor of the number before it', () => {
  const records = [{ retry_attempt: 1, retry_status: 'FAILED' }];
  const corrected = { ...dueRow(), claim_id: '', life: 3, last_attempt: 2, send_status: 'RETRY' };
  for (const first of [undefined, 0, 1]) expect(lacksOf(corrected, records, first, NOW)).toEqual([]);
  const attempted = { ...corrected, last_attempt: 4 };
  expect(lacksOf(attempted, [...records, { retry_attempt: 3 }], 0, NOW)).toEqual(['6: attempt 4 has no record']);
});
