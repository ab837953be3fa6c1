import { policyOf } from '../model/error-types.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import type { ReceivedMessage } from '../model/queue-message.ts';
import type { EndedAttempt } from './ended-attempt.ts';
import type { SendResult } from './sender.ts';
import type { Verdict } from './verdict.ts';

/**
 * An attempt whose worker recorded it and died before settling, as the record describes it. The message at hand takes
 * the place of the dead worker's message.
 */
export function recordedAttempt(
  row: NotificationRow,
  record: RetryRecord,
  received: ReceivedMessage,
  now: Date,
): EndedAttempt {
  const started = new Date(record.retry_at);
  return {
    row,
    first_attempt_at: row.first_attempt_at ?? record.retry_at,
    counted: row.send_attempts > 0,
    trigger: record.trigger,
    requested_by: record.requested_by ?? 'schedule',
    run_id: received.message.run_id,
    received,
    started,
    ended: record.retry_status === 'SUCCESS' ? started : now,
    verdict: verdictOf(record),
    ...(record.retry_status !== 'SKIPPED' && { result: resultOf(record) }),
  };
}

/** The provider's answer, as far as the record keeps it. */
export function resultOf({ retry_status, error_type, response_code, response_message }: RetryRecord): SendResult {
  const code = response_code !== undefined && { response_code };
  if (retry_status === 'SUCCESS') return { ok: true, response_code: '', ...code };
  const type =
    error_type === 'MAX_RETRIES' || error_type === 'EXPIRED' || error_type === 'CANCELLED' ? 'UNKNOWN' : error_type;
  return { ok: false, error_type: type ?? 'UNKNOWN', message: response_message ?? '', ...code };
}

function verdictOf(record: RetryRecord): Verdict {
  const error_type = record.error_type ?? 'UNKNOWN';
  if (record.retry_status === 'SUCCESS') return { status: 'SUCCESS' };
  if (record.failure_reason !== undefined) {
    const { dead_letter } = policyOf(record.failure_reason);
    return { status: 'FAILED', error_type, failure_reason: record.failure_reason, dead_letter };
  }
  const counted = record.uncounted !== true;
  return { status: 'RETRY', error_type, next_retry_at: record.next_retry_at ?? record.retry_at, counted };
}
