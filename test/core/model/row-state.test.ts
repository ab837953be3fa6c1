import { describe, expect, it } from 'vitest';
import type { ForeignRow, NotificationRow } from '../../../src/core/model/notification.ts';
import { failedAt, stateOf } from '../../../src/core/model/row-state.ts';
import { exclusionOf } from '../../../src/core/operator/operations/exclusions.ts';
import { dueRow, iso, T0 } from '../../support/rows.ts';

const { work_queue: _, ...outOfIndex } = dueRow();
const dead = dueRow({ send_status: 'FAILED', failure_reason: 'MAX_RETRIES', work_queue: 'dead#normal#0' });
const stopped = { ...outOfIndex, failure_reason: 'INVALID_RECIPIENT' } as const;
const aside = { log_id: 'x', send_status: 'FAILED', failure_reason: 'FORMAT_ERROR' } as unknown as NotificationRow;

/** As a sweep leaves a row that was in the work index. */
const asideFor = (error_message: string) => {
  const { work_at: __, ...row } = outOfIndex;
  return { ...row, send_status: 'FAILED', failure_reason: 'FORMAT_ERROR', error_message } as const;
};

it.each([
  ['delivered', dueRow({ send_status: 'SUCCESS' })],
  ['due', dueRow()],
  ['waiting', dueRow({ work_at: iso(1) })],
  ['due', dueRow({ send_status: 'PENDING', claim_until: iso(1_000) })],
  ['claimed', dueRow({ send_status: 'SENDING', claim_until: iso(1) })],
  ['abandoned', dueRow({ send_status: 'SENDING', claim_until: iso(0) })],
  ['abandoned', dueRow({ send_status: 'SENDING' })],
  ['dead', dead],
  ['stopped', stopped],
  ['set_aside', aside],
  ['stopped', asideFor('channel breaks channels of the stage: expected one of email')],
  ['set_aside', asideFor('work_at breaks TIMESTAMP: expected a time')],
  ['set_aside', asideFor('work_at breaks TIMESTAMP: expected a time; channel breaks channels of the stage: expected')],
  ['set_aside', { ...asideFor('channel breaks channels of the stage: expected one of email'), priority: 'x' as never }],
  ['not_taken_in', outOfIndex],
  ['not_taken_in', { ...outOfIndex, send_status: 'SENDING' as const }],
  ['not_taken_in', dueRow({ work_queue: 'nonsense' })],
])('the state of a row is %s', (state, row) => expect(stateOf(row, T0)).toBe(state));

it('the time of a failure is the death of a dead one, and the last change of a stopped one, not when it was due', () => {
  const late = { work_at: iso(-3_600_000), updated_at: iso() };
  expect(failedAt({ ...stopped, ...late })).toBe(iso());
  expect(failedAt({ ...dead, work_at: iso(-60_000), updated_at: iso() })).toBe(iso(-60_000));
  expect(failedAt({ failure_reason: 'CANCELLED', updated_at: 'soon' } as const)).toBeUndefined();
});

describe('whether a redrive by filter takes a row', () => {
  const created = (ms: number) => ({ tenant_created_at: `tenant-1#${iso(ms)}` });
  it.each<[string | undefined, ForeignRow, object]>([
    [undefined, { ...dead }, {}],
    ['delivered', { ...dead, send_status: 'SUCCESS' }, {}],
    ['delivered', { ...stopped, send_status: 'SUCCESS' }, { include_stopped: true }],
    ['claimed', { ...dead, send_status: 'SENDING', claim_until: iso(1) }, {}],
    ['claimed', { ...dead, send_status: 'SENDING', claim_until: iso(-1) }, {}],
    ['retrying', { ...dueRow() }, {}],
    ['INVALID_RECIPIENT', { ...stopped }, {}],
    [undefined, { ...stopped }, { include_stopped: true }],
    ['CANCELLED', { ...stopped, failure_reason: 'CANCELLED' }, {}],
    ['dropped', { ...stopped, failure_reason: 'AUTH_FAILED' }, {}],
    ['set_aside', { ...aside }, { include_stopped: true }],
    ['recipient_suppressed', { ...stopped, suppressed: true }, { include_stopped: true }],
    ['recipient_suppressed', { ...dead, suppressed: true }, {}],
    ['deleted', { ...dead, is_deleted: true }, {}],
    [undefined, { ...dead, ...created(-1_000) }, { max_age_ms: 1_000 }],
    ['expired', { ...dead, ...created(-1_001) }, { max_age_ms: 1_000 }],
    ['expired', { ...dead }, { max_age_ms: 1_000 }],
  ])('%s', (expected, row, more) => expect(exclusionOf(row, more, T0)).toBe(expected));
});
