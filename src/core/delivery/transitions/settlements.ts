import { type NotificationRow, type RetryRecord, UPDATED_BY } from '../../model/notification.ts';
import { queuedFor, type ReceivedMessage, takenAt } from '../../model/queue-message.ts';
import { type RowChange, TURN_BYTES, withChange } from '../../model/row-change.ts';
import { clip, roomLeft, rowBytes } from '../../model/text.ts';
import { endOf, movedQueue } from '../../model/work-index.ts';
import type { Attempt } from '../attempt.ts';
import type { Refused } from '../ports.ts';
import { recordDue } from '../retry-record.ts';
import { attemptsLeft } from '../verdict.ts';

/**
 * sending → delivered, due, dead or stopped: the change that ends an attempt. It removes one attribute at most, because
 * the PartiQL dialects agree on no more, except when a forced attempt ends a dead notification or a delivery event has
 * set `give_up`.
 */
export function settlementOf(attempt: Attempt<'judged'>, { queued } = { queued: true }): RowChange {
  const change = stateAfter(attempt, queued);
  return { ...change, set: { ...change.set, ...describedFailure(attempt, change) } };
}

function stateAfter(attempt: Attempt<'judged'>, queued: boolean): RowChange {
  const { verdict } = attempt;
  switch (verdict.status) {
    case 'SUCCESS':
      return delivered(attempt);
    case 'RETRY':
      return dueAgain(attempt, verdict, queued);
    case 'FAILED':
      if (attempt.asked_again_at !== undefined) return deadAsBefore(attempt);
      return verdict.dead_letter ? dead(attempt, verdict) : stopped(attempt, verdict);
  }
}

type Verdict<Status> = Extract<Attempt<'judged'>['verdict'], { status: Status }>;

/** Attributes that only a dead row has. */
const LETTER = ['dead_message_id', 'dead_run_id'] as const;

function delivered(attempt: Attempt<'judged'>): RowChange {
  const { row, result } = attempt;
  return {
    set: {
      ...ended(attempt),
      ...(result === undefined && attempt.counted && uncounted(row)),
      send_status: 'SUCCESS',
      sent_at: (!result?.ok && row.delivered_at) || attempt.ended.toISOString(),
    },
    remove: [
      'work_queue',
      ...obsolete(row),
      ...(row.failure_reason === undefined ? [] : (['failure_reason', ...LETTER] as const)),
    ],
  };
}

/** @param queued false: SQS refused the message of a near retry, so that a look ahead has to send it */
function dueAgain(attempt: Attempt<'judged'>, verdict: Verdict<'RETRY'>, queued: boolean): RowChange {
  const { row } = attempt;
  const { next_retry_at, max_retries } = verdict;
  const given: Partial<NotificationRow> = !verdict.counted && attempt.counted ? uncounted(row) : {};
  return {
    set: {
      ...ended(attempt),
      ...given,
      ...(max_retries !== undefined && {
        attempts_left: attemptsLeft(max_retries, given.send_attempts ?? row.send_attempts),
      }),
      send_status: 'RETRY',
      next_retry_at,
      work_at: next_retry_at,
      ...(queued && queuedFor(next_retry_at, row, attempt.ended)),
    },
    remove: obsolete(row),
  };
}

function stopped(attempt: Attempt<'judged'>, verdict: Verdict<'FAILED'>): RowChange {
  const { row } = attempt;
  const letter = row.failure_reason === undefined ? [] : LETTER;
  return { set: failed(attempt, verdict), remove: ['work_queue', ...obsolete(row), ...letter] };
}

function dead(attempt: Attempt<'judged'>, verdict: Verdict<'FAILED'>): RowChange {
  const { row, received } = attempt;
  const set = {
    ...failed(attempt, verdict),
    work_queue: movedQueue('dead', row),
    work_at: attempt.ended.toISOString(),
    ...(received && letterOf(row, received)),
  };
  if (row.give_up !== undefined) return { set, remove: ['give_up'] };
  // A row with a letter fills its kilobyte. Removing `claim_until` makes room for the turn.
  const { claim_until: _, ...rest } = set;
  return { set: rest, remove: ['claim_until'] };
}

/** sending → dead again, as a forced attempt was held: letter and time of death stay, by which its message is known. */
function deadAsBefore(attempt: Attempt<'judged'>): RowChange {
  const { row, received } = attempt;
  return {
    set: {
      ...ended(attempt),
      ...(attempt.counted && uncounted(row)),
      send_status: 'FAILED',
      work_queue: movedQueue('dead', row),
      ...(received && { work_at: received.message.due }),
    },
    remove: obsolete(row),
  };
}

function failed(attempt: Attempt<'judged'>, verdict: Verdict<'FAILED'>): Partial<NotificationRow> {
  return {
    ...ended(attempt),
    ...(attempt.result === undefined && attempt.counted && uncounted(attempt.row)),
    send_status: 'FAILED',
    failure_reason: verdict.failure_reason,
    ...(verdict.successor_log_id !== undefined && { successor_log_id: verdict.successor_log_id }),
  };
}

function ended(attempt: Attempt<'judged'>): Partial<NotificationRow> {
  return {
    // Releases the claim, and leaves 30 bytes more of the kilobyte that a write unit covers.
    claim_until: '',
    claim_id: '',
    first_attempt_at: attempt.first_attempt_at,
    retry_count: Math.max(0, attempt.row.send_attempts - 1),
    ...answerColumns(attempt),
  };
}

function obsolete(row: NotificationRow): readonly ['give_up'] | readonly [] {
  return row.give_up === undefined ? [] : ['give_up'];
}

function uncounted(row: NotificationRow): Partial<NotificationRow> {
  const send_attempts = row.send_attempts - 1;
  return { send_attempts, attempts_left: row.attempts_left + 1, retry_count: Math.max(0, send_attempts - 1) };
}

/**
 * sending → delivered, of an accepted attempt whose record RetryLog has not taken: the row keeps what the record says,
 * and stays in the work index until the record is written.
 */
export function settlementWithPendingRecord(attempt: Attempt<'judged'>, record: RetryRecord): RowChange {
  const { set, remove = [] } = settlementOf(attempt);
  return {
    set: { ...set, work_at: attempt.ended.toISOString(), record_due: recordDue(record) },
    remove: remove.filter((name) => name !== 'work_queue'),
  };
}

/** The record that a delivered row kept is written. */
export const RECORD_WRITTEN: RowChange = { set: {}, remove: ['work_queue', 'record_due'] };

/** sending → due: a crashed worker's attempt is recorded, and the next one is due now. */
export const CRASHED: RowChange = { set: { send_status: 'RETRY' } };

/**
 * What a dead row remembers of the message that carries it to the DLQ. Attributes that a former letter had and this one
 * has not are set to empty: a statement removes one attribute at most.
 */
export function letterOf(row: NotificationRow, received: ReceivedMessage): Partial<NotificationRow> {
  const { message_id, message } = received;
  const copied = message.enqueued_at ?? (row.dead_enqueued_at && '');
  return {
    dead_message_id: message_id,
    dead_run_id: message.run_id,
    ...(copied !== undefined && { dead_enqueued_at: copied }),
    dead_sent_at: takenAt(received),
  };
}

/** Longest text, in characters, that keeps a row below one write unit of 1 KB. */
export const ROW_TEXT = 100;

/** The part of the last answer that the row keeps: its reason, in short. The retry record has the rest. */
function answerColumns({ row, result, verdict }: Attempt<'judged'>): Partial<NotificationRow> {
  const message = result?.ok ? result.response_message : undefined;
  return {
    ...(result && replacing(row, 'response_code', clip(result.response_code ?? '', 20))),
    ...(result?.ok !== false && verdict.status === 'SUCCESS' && replacing(row, 'error_message', '')),
    ...(result?.ok && replacing(row, 'response_message', clip(message ?? '', ROW_TEXT))),
    ...(verdict.status !== 'SUCCESS' && { error_type: verdict.error_type }),
    ...(result?.ok === false && { error_message: clip(result.message, ROW_TEXT) }),
  };
}

/** A column that says nothing is set to empty only where it said something. */
export function replacing(row: NotificationRow, column: AnswerColumn, value: string): Partial<NotificationRow> {
  return value || row[column] ? { [column]: value } : {};
}

type AnswerColumn = 'response_code' | 'response_message' | 'error_message' | 'error_details';

/** What the failure leaves in the room that the other columns leave of the write unit. */
function describedFailure({ row, result, ended }: Attempt<'judged'>, change: RowChange): Partial<NotificationRow> {
  if (change.set.send_status === 'SUCCESS') return replacing(row, 'error_details', '');
  if (result?.ok !== false) return {};
  return failureColumns(withChange(row, change), result, { attempt: row.last_attempt, at: ended.toISOString() });
}

/** What other columns of the row say, too (error_type, response_code, error_message), comes last. */
const BY_IMPORTANCE = ['at', 'type', 'code'] as const;
/** In characters, the longest first. */
const LENGTHS = [100, 50, 25] as const;

/**
 * `response_message`, the receiver's own words unless `error_message` has them, and `error_details`, the last failure as
 * JSON (his-notification-log-table.md), as far as they fit into the write unit that the row needs without them: a failure
 * must not make each further write more expensive. Whatever does not fit is in the retry record. Empty when nothing fits
 * and an earlier answer is described; absent when none is.
 * @param row as it is after the change
 * @param when.at ISO-8601 UTC
 */
export function failureColumns(
  row: NotificationRow,
  { error_type, response_code, message, details }: Refused,
  when: { readonly attempt: number; readonly at: string },
): Pick<NotificationRow, 'response_message' | 'error_details'> {
  // Each write adds when and by whom, and one that ends the row its turn.
  const stamp = { updated_at: when.at, updated_by: UPDATED_BY };
  const turn = endOf({ ...row, ...stamp }) && ' '.repeat(TURN_BYTES);
  const { error_details: _, response_message: __, ...rest } = { ...row, ...stamp, ...(turn !== undefined && { turn }) };
  const total = roomLeft(rowBytes(rest));
  const fits = (columns: Partial<NotificationRow>) => rowBytes(columns) <= total;
  const json = (described: object) => ({ error_details: JSON.stringify(described) });

  let described: object = fits(json({ attempt: when.attempt })) ? { attempt: when.attempt } : {};
  const words = typeof details?.['text'] === 'string' && !message.includes(details['text']) ? details['text'] : '';
  const said = LENGTHS.map((length) => clip(words, length)).find((response_message) =>
    fits({ response_message, ...json(described) }),
  );
  const columns = replacing(row, 'response_message', said ?? '');
  const failure = { at: when.at, type: error_type, code: response_code && clip(response_code, 20) };
  for (const name of BY_IMPORTANCE) {
    const more = { ...described, ...(failure[name] && { [name]: failure[name] }) };
    if (fits({ ...columns, ...json(more) })) described = more;
  }
  const whole = LENGTHS.map((length) => ({ ...described, message: clip(message, length) }));
  described = whole.find((more) => fits({ ...columns, ...json(more) })) ?? described;
  const is_empty = Object.keys(described).length === 0;
  return { ...columns, ...replacing(row, 'error_details', is_empty ? '' : JSON.stringify(described)) };
}
