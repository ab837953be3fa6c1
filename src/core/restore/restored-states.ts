import { recordOfCrash } from '../delivery/retry-record.ts';
import { CANCELLATION, present, shownDelivered } from '../delivery/transitions/without-attempt.ts';
import type { ErrorType } from '../model/error-types.ts';
import type { ForeignRow, NotificationRow, RetryRecord } from '../model/notification.ts';
import { type RowChange, withChange } from '../model/row-change.ts';
import { movedQueue } from '../model/work-index.ts';
import type { RestoreTerms } from './survivors.ts';

/** What becomes of a restored row that the deployed table lacks. */
export type Restored =
  | { readonly do: 'leave_out' }
  | { readonly do: 'put'; readonly as: RestoredAs; readonly row: ForeignRow; readonly with?: With }
  /** Only a person can decide. `row`: it is put, and nothing sends it until a person does. */
  | { readonly do: 'ask'; readonly why: Question; readonly row?: ForeignRow; readonly with?: With };

/** What only a person can decide, in words; at most ROW_TEXT characters, as the row keeps them. */
export const QUESTIONS = {
  outcome_unknown: 'Restored: it was due since, and its records are lost, so it may have been sent.',
  perhaps_cancelled: 'Restored: an operator may have cancelled it since.',
  perhaps_retried: 'Restored: it was given up, and somebody may have had it retried since.',
  perhaps_erased: 'Restored: somebody was erased since, perhaps its recipient: run `ops forget` again.',
  came_back: 'Restored: it came back since, and why it was given up is lost.',
  put_anew: 'Restored: its writer has put it anew since, and only the content is left of that.',
  not_taken_in: 'Its writer had put it a moment before, and nobody knows whether it was sent since.',
  accepted_since:
    'Accepted since, and its content does not say for which channel: its producer must repeat the request.',
  written_since: 'Written since by another program, whose row is lost: it must put the row again.',
  content_lost: 'Its content is lost: whoever handed it over must repeat the request, or put the content again.',
  forgotten: 'Somebody of this tenant was erased since: run `ops forget` with the address again.',
  unnamed: 'An action on more notifications than the audit log names: look at what it was for.',
} as const;
export type Question = keyof typeof QUESTIONS;

/** `given_up_again`: its letter names a row that is lost, so it is given up anew, with another letter, and without a send. */
export const RESTORED_AS = [
  ...([
    'as_it_was',
    'delivered',
    'due_again',
    'given_up_again',
    'handed_on',
    'cancelled',
    'stopped',
    'erased',
  ] as const),
] as const;
type RestoredAs = (typeof RESTORED_AS)[number];

/** What else has to be put: before the row the record of its last attempt, after it the row that continues it. */
interface With {
  readonly record?: RetryRecord;
  readonly successor?: Restored;
}

export type Decided =
  | { readonly as: RestoredAs; readonly row: NotificationRow; readonly with?: With }
  | { readonly ask: Question; readonly row?: NotificationRow; readonly with?: With };

export function deliveredBy({ retry_at }: RetryRecord, row: NotificationRow): NotificationRow {
  const change = shownDelivered(row, { claim_id: '' }, retry_at);
  return withChange(row, {
    ...change,
    remove: [...(change.remove ?? []), ...present(row, ['queued_for', 'record_due'])],
  });
}

export function stoppedUntilAsked(row: NotificationRow, ask: Question, { now }: RestoreTerms): Decided {
  const record = row.send_status === 'SENDING' ? { with: { record: unrecorded(row, now) } } : {};
  return { ask, row: stopped(row, ask), ...record };
}

export function unrecorded(row: NotificationRow, now: Date): RetryRecord {
  const verdict = { status: 'RETRY', error_type: 'UNKNOWN', next_retry_at: now.toISOString(), counted: true } as const;
  return recordOfCrash(row, {
    run_id: 'restore',
    requested_by: 'operator',
    now,
    verdict,
    remark: 'its record is lost',
  });
}

/** What only a row that is over has, or one that is to be. Its record is among those that survived. */
const OF_AN_END = [
  'record_due',
  'failure_reason',
  'dead_message_id',
  'dead_run_id',
  'dead_enqueued_at',
  'dead_sent_at',
] as const;

export function withoutEnd(row: NotificationRow): NotificationRow {
  return withChange(row, { set: { claim_until: '', claim_id: '' }, remove: present(row, OF_AN_END) });
}

/** Whoever receives its message gives it up: with a record and a letter of its own, or its successor. */
export function givenUpAgain(row: NotificationRow, give_up: ErrorType, { now }: RestoreTerms): Decided {
  const again = withoutEnd({ ...row, give_up });
  return { as: 'given_up_again', row: dueAt(again, now.toISOString(), now) };
}

export function ended(row: NotificationRow, reason: ErrorType): NotificationRow {
  const { set, remove = [] } = CANCELLATION;
  const change: RowChange = {
    set: { ...set, failure_reason: reason, claim_until: '' },
    remove: [...remove, 'queued_for'],
  };
  return withChange(row, { ...change, set: { ...change.set, work_at: row.work_at ?? '' } });
}

export function stopped(row: NotificationRow, why: Question): NotificationRow {
  return { ...ended(row, 'UNKNOWN'), error_type: row.error_type ?? 'UNKNOWN', error_message: QUESTIONS[why] };
}

export function dueAt(
  row: NotificationRow,
  at: string,
  now: Date,
  send_status: NotificationRow['send_status'] = 'RETRY',
) {
  const work_at = at > now.toISOString() ? at : now.toISOString();
  const next = send_status === 'RETRY' && { next_retry_at: work_at };
  const set = { send_status, work_at, work_queue: movedQueue('due', row), ...next };
  return withChange(row, { set, remove: ['queued_for'] });
}
