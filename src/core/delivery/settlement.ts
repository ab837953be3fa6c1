import { type ErrorType, policyOf } from '../model/error-types.ts';
import type { NotificationRow, RetryRecord, Trigger } from '../model/notification.ts';
import { queuedFor, type ReceivedMessage } from '../model/queue-message.ts';
import type { RowChange } from '../model/row-change.ts';
import { clip } from '../model/text.ts';
import { workQueueOf } from '../model/work-index.ts';
import type { SendResult } from './sender.ts';
import type { Verdict } from './verdict.ts';

/** An attempt that has ended, by a send or without one. */
export interface EndedAttempt {
  /** The row as claimed for it. */
  readonly row: NotificationRow;
  readonly first_attempt_at: string;
  readonly counted: boolean;
  readonly trigger: Trigger;
  readonly received: ReceivedMessage;
  readonly started: Date;
  readonly ended: Date;
  /** The provider's answer; absent when nothing was sent. */
  readonly result?: SendResult;
  /** The breaker that kept it from being sent. */
  readonly held_by?: string;
  readonly verdict: Verdict;
}

/** Longest texts that keep a row and a retry record below one write unit of 1 KB each. */
export const ROW_TEXT = 100;
const RECORD_TEXT = 120;
const RECORD_DETAILS = 300;

const ARRIVED = 'Nothing was sent: an event had shown that an earlier attempt arrived.';

/** Deterministic, so that writing a record twice is harmless (design §4). */
export function retryLogId(log_id: string, attempt: number): string {
  return `${log_id}#${attempt}`;
}

export function recordOf(attempt: EndedAttempt): RetryRecord {
  const { row, verdict, result, received } = attempt;
  const failure = verdict.status === 'SUCCESS' ? undefined : verdict;
  const cause = result?.ok === false ? result.error_type : failure?.error_type;
  return {
    retry_log_id: retryLogId(row.log_id, row.last_attempt),
    original_log_id: row.log_id,
    retry_attempt: row.last_attempt,
    tenant_id: row.tenant_id,
    channel: row.channel,
    retry_at: attempt.started.toISOString(),
    retry_status: result === undefined ? 'SKIPPED' : verdict.status === 'SUCCESS' ? 'SUCCESS' : 'FAILED',
    duration_ms: attempt.ended.getTime() - attempt.started.getTime(),
    trigger: attempt.trigger,
    run_id: received.message.run_id,
    ...(failure && cause && { error_type: cause, remedy: remedyOf(verdict, cause) }),
    ...(result && answerOf(result)),
    ...(attempt.held_by && { error_details: JSON.stringify({ breaker: attempt.held_by }) }),
    ...(result === undefined && verdict.status === 'SUCCESS' && { response_message: ARRIVED }),
    ...(verdict.status === 'RETRY' && { next_retry_at: verdict.next_retry_at }),
    ...(verdict.status === 'RETRY' && !verdict.counted && { uncounted: true }),
    ...(verdict.status === 'FAILED' && { failure_reason: verdict.failure_reason }),
  };
}

function remedyOf(verdict: Verdict, cause: ErrorType): string {
  return policyOf(verdict.status === 'FAILED' ? verdict.failure_reason : cause).remedy;
}

function answerOf(result: SendResult): Partial<RetryRecord> {
  const text = result.ok ? result.response_message : result.message;
  return {
    ...(result.response_code !== undefined && { response_code: clip(result.response_code, 20) }),
    ...(text !== undefined && { response_message: clip(text, RECORD_TEXT) }),
    ...(result.ok && result.provider_message_id && { provider_message_id: clip(result.provider_message_id, 100) }),
    ...(!result.ok && { error_details: detailsOf(result.message, result.details) }),
  };
}

/** JSON that stays JSON when it has to be shortened (his-notification-log-table.md: error details are JSON). */
function detailsOf(message: string, details: Readonly<Record<string, unknown>> | undefined): string {
  const whole = JSON.stringify({ ...details });
  return whole.length <= RECORD_DETAILS
    ? whole
    : JSON.stringify({ message: clip(message, RECORD_TEXT), shortened: clip(whole, RECORD_DETAILS - RECORD_TEXT) });
}

/** What a dead row remembers of its death. */
const DEATH = ['failure_reason', 'dead_message_id', 'dead_run_id'] as const;

/**
 * The change that ends an attempt. At most one attribute goes, for that is all PartiQL dialects agree on, except when a
 * forced attempt delivers a dead notification, or a delivery event told to give up.
 */
export function settlementOf(attempt: EndedAttempt): RowChange {
  const { row, verdict, result, received } = attempt;
  const common = {
    // Released, and 24 bytes less of the one kilobyte that a write unit covers.
    claim_until: '',
    first_attempt_at: attempt.first_attempt_at,
    retry_count: Math.max(0, row.send_attempts - 1),
    ...rowAnswer(attempt),
  };
  const spent = row.give_up === undefined ? [] : (['give_up'] as const);
  switch (verdict.status) {
    case 'SUCCESS':
      return {
        set: {
          ...common,
          ...(result === undefined && attempt.counted && uncount(row)),
          send_status: 'SUCCESS',
          sent_at: (!result?.ok && row.delivered_at) || attempt.ended.toISOString(),
        },
        remove: ['work_queue', ...spent, ...(row.failure_reason === undefined ? [] : DEATH)],
      };
    case 'RETRY':
      return {
        set: {
          ...common,
          ...(!verdict.counted && attempt.counted && uncount(row)),
          send_status: 'RETRY',
          next_retry_at: verdict.next_retry_at,
          work_at: verdict.next_retry_at,
          ...queuedFor(verdict.next_retry_at, attempt.ended),
        },
        remove: spent,
      };
    case 'FAILED': {
      const gaveUp = {
        ...common,
        ...(result === undefined && attempt.counted && uncount(row)),
        send_status: 'FAILED',
        failure_reason: verdict.failure_reason,
        ...(verdict.successor_log_id !== undefined && { successor_log_id: verdict.successor_log_id }),
      } as const;
      if (!verdict.dead_letter) return { set: gaveUp, remove: ['work_queue', ...spent] };
      return {
        set: {
          ...gaveUp,
          work_queue: workQueueOf('dead', row.priority, row.log_id),
          work_at: attempt.ended.toISOString(),
          dead_message_id: received.message_id,
          dead_run_id: received.message.run_id,
        },
        remove: spent,
      };
    }
  }
}

function uncount(row: NotificationRow): Partial<NotificationRow> {
  const send_attempts = row.send_attempts - 1;
  return { send_attempts, attempts_left: row.attempts_left + 1, retry_count: Math.max(0, send_attempts - 1) };
}

/** What the row keeps of the last answer: enough to see why, the rest is in the retry record. */
function rowAnswer({ result, verdict }: EndedAttempt): Partial<NotificationRow> {
  return {
    ...(result?.response_code !== undefined && { response_code: clip(result.response_code, 20) }),
    ...(result?.ok && result.response_message && { response_message: clip(result.response_message, ROW_TEXT) }),
    ...(verdict.status !== 'SUCCESS' && { error_type: verdict.error_type }),
    ...(result?.ok === false && { error_message: clip(result.message, ROW_TEXT) }),
  };
}

/**
 * The settlement of an attempt whose worker recorded it and died before settling: what the record says happened.
 * The message at hand takes the place of the dead worker's.
 */
export function settlementFromRecord(
  row: NotificationRow,
  record: RetryRecord,
  received: ReceivedMessage,
  now: Date,
  verdict = verdictOf(record),
): RowChange {
  return settlementOf({
    row,
    first_attempt_at: row.first_attempt_at ?? record.retry_at,
    counted: row.send_attempts > 0,
    trigger: record.trigger,
    received,
    started: new Date(record.retry_at),
    ended: record.retry_status === 'SUCCESS' ? new Date(record.retry_at) : now,
    verdict,
    ...(record.retry_status !== 'SKIPPED' && { result: resultOf(record) }),
  });
}

/** The answer, as far as its record kept it. */
export function resultOf({ retry_status, error_type, response_code, response_message }: RetryRecord): SendResult {
  const code = response_code !== undefined && { response_code };
  if (retry_status === 'SUCCESS') return { ok: true, response_code: '', ...code };
  const type =
    error_type === 'MAX_RETRIES' || error_type === 'EXPIRED' || error_type === 'CANCELLED' ? 'UNKNOWN' : error_type;
  return { ok: false, error_type: type ?? 'UNKNOWN', message: response_message ?? '', ...code };
}

export function verdictOf(record: RetryRecord): Verdict {
  const error_type = record.error_type ?? 'UNKNOWN';
  if (record.retry_status === 'SUCCESS') return { status: 'SUCCESS' };
  if (record.failure_reason !== undefined) {
    const { dead_letter } = policyOf(record.failure_reason);
    return { status: 'FAILED', error_type, failure_reason: record.failure_reason, dead_letter };
  }
  const counted = record.uncounted !== true;
  return { status: 'RETRY', error_type, next_retry_at: record.next_retry_at ?? record.retry_at, counted };
}
