import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, it } from 'vitest';
import { FOREIGN_ROWS } from '../../../../lib/constructs/indexing/stream-filters.ts';
import { matchesAny } from '../../../../src/local/emulator/events/event-filter.ts';

const ours = { history_bucket: '2026-11-21#3', updated_by: 'notification-retry' };
const corrected = { recipient_address: 'yamada@example.com', message_body: '本文' };

function wakesTheIndexer(row: Record<string, unknown>, eventName = 'INSERT'): boolean {
  const record = { eventName, dynamodb: { NewImage: marshall({ log_id: 'NL001', ...row }) } };
  const patterns = FOREIGN_ROWS.map(({ pattern }) => JSON.parse(pattern));
  return matchesAny(patterns, JSON.parse(JSON.stringify(record)));
}

describe('the due-indexer', () => {
  it.each([
    ['a failed row of BATCH-951', { send_status: 'FAILED', next_retry_at: '2026-11-21T08:30:00.000Z' }],
    ['a row that was not sent yet', { send_status: 'PENDING' }],
    ['a row that others retry', { send_status: 'RETRY' }],
    ['a row with a status that does not exist', { send_status: 'failed' }],
    ['a row without a status', { tenant_id: 'TENANT001' }],
    ['a row with a number for a status', { send_status: 4 }],
    ['a row whose failure_reason is null', { send_status: 'FAILED', failure_reason: null }],
    ['a row that others delivered', { send_status: 'SUCCESS' }],
    ["a row with its writer's own failure_reason", { send_status: 'FAILED', failure_reason: 'mailbox full' }],
    ["a row with its writer's own index keys", { send_status: 'FAILED', work_queue: 'due#normal#1' }],
    ['a row of ours that another writer changed', { ...ours, work_queue: 'due#normal#1', updated_by: 'BATCH-951' }],
    ['a row with a number for a reason', { send_status: 'FAILED', failure_reason: 4 }],
    ['a row in work, corrected', { ...ours, ...corrected, send_status: 'RETRY', work_queue: 'due#normal#1' }],
    ['a row that was given up, corrected', { ...ours, ...corrected, send_status: 'FAILED', failure_reason: 'EXPIRED' }],
    ['a row that we delivered, with a new subject', { ...ours, send_status: 'SUCCESS', subject: '件名' }],
    ['a row in work, with a new fallback', { ...ours, send_status: 'RETRY', work_queue: 'd', fallback_recipient: 'x' }],
  ])('runs for %s', (_, row) => {
    expect(wakesTheIndexer(row)).toBe(true);
    expect(wakesTheIndexer(row, 'MODIFY')).toBe(true);
  });

  it.each([
    ['a row in the work index', { ...ours, send_status: 'FAILED', work_queue: 'due#normal#1' }],
    ['a row that waits for its retry', { ...ours, send_status: 'RETRY', work_queue: 'due#normal#1' }],
    ['a row that is claimed', { ...ours, send_status: 'SENDING', work_queue: 'due#normal#1' }],
    ['a row that was given up', { ...ours, send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' }],
    ['a malformed row that was set aside', { ...ours, send_status: 'FAILED', failure_reason: 'FORMAT_ERROR' }],
    ['a row that we delivered', { ...ours, send_status: 'SUCCESS' }],
    ['a row that others are sending', { ...corrected, send_status: 'SENDING' }],
    ['a claimed row, corrected', { ...ours, ...corrected, send_status: 'SENDING', work_queue: 'due#normal#1' }],
    [
      'a row of ours with columns of NULL',
      { ...ours, send_status: 'RETRY', work_queue: 'due#normal#1', subject: null },
    ],
  ])('does not run for %s', (_, row) => expect(wakesTheIndexer(row)).toBe(false));

  it('needs no more filters than a mapping may have', () => expect(FOREIGN_ROWS.length).toBeLessThanOrEqual(5));

  it('does not run for rows that expire', () => {
    expect(wakesTheIndexer({ send_status: 'FAILED' }, 'REMOVE')).toBe(false);
  });
});
