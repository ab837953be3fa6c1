import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { queuedFor } from '../model/queue-message.ts';
import { type RowChange, withChange } from '../model/row-change.ts';
import { clip } from '../model/text.ts';
import { movedQueue } from '../model/work-index.ts';
import type { EndedAttempt } from './ended-attempt.ts';
import { letterOf } from './letter.ts';
import { errorDetails } from './policy/error-details.ts';
import { recordDue } from './repair-record.ts';
import { attemptsLeft } from './verdict.ts';

/** Longest text, in characters, that keeps a row below one write unit of 1 KB. */
export const ROW_TEXT = 100;

/** Attributes that only a dead row has. */
const DEAD_LETTER_ATTRIBUTES = ['failure_reason', 'dead_message_id', 'dead_run_id'] as const;

/**
 * The change that ends an attempt. It removes one attribute at most, because the PartiQL dialects agree on no more,
 * except when a forced attempt ends a dead notification or a delivery event has set `give_up`.
 * @param queued false: SQS refused the message of a near retry, so that a look ahead has to send it
 */
export function settlementOf(attempt: EndedAttempt, queued = true): RowChange {
  const change = stateAfter(attempt, queued);
  return { ...change, set: { ...change.set, ...detailsAfter(attempt, change) } };
}

/** `error_details`, which takes what the other columns leave of the write unit. */
function detailsAfter({ row, result, ended }: EndedAttempt, change: RowChange): Partial<NotificationRow> {
  if (change.set.send_status === 'SUCCESS') return row.error_details ? { error_details: '' } : {};
  if (result?.ok !== false) return {};
  const { error_type, response_code, message } = result;
  return errorDetails(withChange(row, change), {
    type: error_type,
    ...(response_code !== undefined && { code: clip(response_code, 20) }),
    message,
    attempt: row.last_attempt,
    at: ended.toISOString(),
  });
}

function stateAfter(attempt: EndedAttempt, queued: boolean): RowChange {
  const { row, verdict, result } = attempt;
  const common = {
    // Releases the claim, and leaves 30 bytes more of the kilobyte that a write unit covers.
    claim_until: '',
    claim_id: '',
    first_attempt_at: attempt.first_attempt_at,
    retry_count: Math.max(0, row.send_attempts - 1),
    ...rowAnswer(attempt),
  };
  const obsolete = row.give_up === undefined ? [] : (['give_up'] as const);
  switch (verdict.status) {
    case 'SUCCESS':
      return {
        set: {
          ...common,
          ...(result === undefined && attempt.counted && uncount(row)),
          send_status: 'SUCCESS',
          sent_at: (!result?.ok && row.delivered_at) || attempt.ended.toISOString(),
        },
        remove: ['work_queue', ...obsolete, ...(row.failure_reason === undefined ? [] : DEAD_LETTER_ATTRIBUTES)],
      };
    case 'RETRY': {
      const counts: Partial<NotificationRow> = !verdict.counted && attempt.counted ? uncount(row) : {};
      return {
        set: {
          ...common,
          ...counts,
          ...(verdict.max_retries !== undefined && {
            attempts_left: attemptsLeft(verdict.max_retries, counts.send_attempts ?? row.send_attempts),
          }),
          send_status: 'RETRY',
          next_retry_at: verdict.next_retry_at,
          work_at: verdict.next_retry_at,
          ...(queued && queuedFor(verdict.next_retry_at, row.priority, attempt.ended)),
        },
        remove: obsolete,
      };
    }
    case 'FAILED': {
      const failed = {
        ...common,
        ...(result === undefined && attempt.counted && uncount(row)),
        send_status: 'FAILED',
        failure_reason: verdict.failure_reason,
        ...(verdict.successor_log_id !== undefined && { successor_log_id: verdict.successor_log_id }),
      } as const;
      if (!verdict.dead_letter) {
        const letter = row.failure_reason === undefined ? [] : (['dead_message_id', 'dead_run_id'] as const);
        return { set: failed, remove: ['work_queue', ...obsolete, ...letter] };
      }
      return {
        set: {
          ...failed,
          work_queue: movedQueue('dead', row),
          work_at: attempt.ended.toISOString(),
          ...(attempt.received && letterOf(row, attempt.received)),
        },
        remove: obsolete,
      };
    }
  }
}

/**
 * The settlement of an accepted attempt whose record RetryLog has not taken: the row keeps what the record says, and
 * stays in the work index until the record is written (repair-record.ts).
 */
export function settlementOwing(attempt: EndedAttempt, record: RetryRecord): RowChange {
  const { set, remove = [] } = settlementOf(attempt);
  return {
    set: { ...set, work_at: attempt.ended.toISOString(), record_due: recordDue(record) },
    remove: remove.filter((name) => name !== 'work_queue'),
  };
}

function uncount(row: NotificationRow): Partial<NotificationRow> {
  const send_attempts = row.send_attempts - 1;
  return { send_attempts, attempts_left: row.attempts_left + 1, retry_count: Math.max(0, send_attempts - 1) };
}

/** The part of the last answer that the row keeps: the reason, in short. The retry record has the rest. */
function rowAnswer({ result, verdict }: EndedAttempt): Partial<NotificationRow> {
  return {
    ...(result?.response_code !== undefined && { response_code: clip(result.response_code, 20) }),
    ...(result?.ok && result.response_message && { response_message: clip(result.response_message, ROW_TEXT) }),
    ...(verdict.status !== 'SUCCESS' && { error_type: verdict.error_type }),
    ...(result?.ok === false && { error_message: clip(result.message, ROW_TEXT) }),
  };
}
