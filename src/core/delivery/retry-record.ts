import { type ErrorType, policyOf } from '../model/error-types.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { runOf, triggerOf } from '../model/queue-message.ts';
import { clip } from '../model/text.ts';
import type { EndedAttempt } from './ended-attempt.ts';
import type { SendResult } from './sender.ts';
import type { Verdict } from './verdict.ts';

/** Longest texts, in characters, that keep a record below one write unit of 1 KB. */
const RECORD_TEXT = 120;
const RECORD_DETAILS = 300;

const ARRIVED = 'Nothing was sent: an event had shown that an earlier attempt arrived.';

/** Deterministic: a record that is written twice is written once. */
export function retryLogId(log_id: string, attempt: number): string {
  return `${log_id}#${attempt}`;
}

/**
 * Whether the stored record is this one: a storage client repeats a put whose answer was lost, and meets its own record.
 */
export function isStored(record: RetryRecord, stored: RetryRecord | undefined): boolean {
  const found: Readonly<Record<string, unknown>> = { ...stored };
  return Object.entries(record).every(([name, value]) => found[name] === value);
}

type RecordedAttempt = Omit<EndedAttempt, 'first_attempt_at' | 'counted'>;

export function recordOf(attempt: RecordedAttempt): RetryRecord {
  const { row, verdict, result } = attempt;
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
    run_id: runOf(attempt.run_id),
    ...(failure && cause && { error_type: cause, remedy: remedyOf(verdict, cause) }),
    ...(result && answerOf(result)),
    ...(attempt.held_by && { error_details: JSON.stringify(attempt.held_by) }),
    ...(result === undefined && verdict.status === 'SUCCESS' && { response_message: ARRIVED }),
    ...(verdict.status === 'RETRY' && { next_retry_at: verdict.next_retry_at }),
    ...(verdict.status === 'RETRY' && !verdict.counted && { uncounted: true }),
    ...(verdict.status === 'FAILED' && { failure_reason: verdict.failure_reason }),
  };
}

/**
 * The record of an attempt whose worker died before it wrote one. Nobody knows whether the provider took the message,
 * so the recipient may get a duplicate (invariant 3).
 * @param ending what became of the attempt; `remark` ends the sentence that begins with the worker's death
 */
export function recordOfDied(
  row: NotificationRow,
  ending: { readonly run_id: string; readonly now: Date; readonly verdict: Verdict; readonly remark: string },
): RetryRecord {
  const { run_id, now, verdict, remark } = ending;
  const message = `The worker died before it recorded an outcome; ${remark}.`;
  const result = { ok: false, error_type: 'UNKNOWN', message } as const;
  return recordOf({ row, trigger: triggerOf(run_id), run_id, started: now, ended: now, result, verdict });
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

/** JSON that stays JSON when it is shortened (his-notification-log-table.md: error details are JSON). */
function detailsOf(message: string, details: Readonly<Record<string, unknown>> | undefined): string {
  const whole = JSON.stringify({ ...details });
  return whole.length <= RECORD_DETAILS
    ? whole
    : JSON.stringify({ message: clip(message, RECORD_TEXT), shortened: clip(whole, RECORD_DETAILS - RECORD_TEXT) });
}
