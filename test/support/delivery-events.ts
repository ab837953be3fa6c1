import { retryLogId } from '../../src/core/delivery/retry-record.ts';
import type { DeliveryEvent, Feedback } from '../../src/core/delivery-events/delivery-event.ts';
import type { ProviderErrorType } from '../../src/core/model/error-types.ts';
import type { NotificationRow, RetryRecord } from '../../src/core/model/notification.ts';
import { dueRow, iso } from './rows.ts';

const bounced = (error_type: ProviderErrorType, final: boolean): Feedback => ({
  kind: 'failed',
  answer: { error_type, message: `the mail bounced: ${error_type}` },
  ...(final && { final }),
});

export const PERMANENT = bounced('INVALID_RECIPIENT', true);
/** A hard bounce without a status code. */
export const UNPROVEN = bounced('INVALID_RECIPIENT', false);
export const TRANSIENT = bounced('UNKNOWN', false);
export const VIRUS = bounced('FORMAT_ERROR', true);
/** An automatic reply: the recipient is out of office. */
export const AUTO_REPLY: Feedback = { kind: 'unclear', message: 'the mail bounced: Transient, General' };

export function eventOf(feedback: Feedback, changes: Partial<DeliveryEvent> = {}): DeliveryEvent {
  const attempt = changes.attempt ?? 2;
  return { log_id: 'log-1', attempt, at: iso(1000), provider_message_id: `message-${attempt}`, feedback, ...changes };
}

/** The record of an attempt; it has the message's id if SES accepted the attempt. */
export function recordOf(attempt: number, error_type?: RetryRecord['error_type']): RetryRecord {
  return {
    retry_log_id: retryLogId('log-1', attempt),
    original_log_id: 'log-1',
    retry_attempt: attempt,
    tenant_id: 'tenant-1',
    channel: 'email',
    retry_at: iso(),
    retry_status: error_type === undefined ? 'SUCCESS' : 'FAILED',
    duration_ms: 5,
    trigger: 'sweep',
    requested_by: 'schedule',
    run_id: 'sweep-1',
    ...(error_type === undefined ? { provider_message_id: `message-${attempt}` } : { error_type }),
  };
}

const email = { channel: 'email', send_attempts: 3, attempts_left: 3, last_attempt: 2 } as const;

/** A row after its third attempt, which SES accepted. */
export function acceptedRow(changes: Partial<NotificationRow> = {}): NotificationRow {
  const { work_queue: _, ...row } = dueRow({ ...email, send_status: 'SUCCESS', sent_at: iso() });
  return { ...row, ...changes };
}

/** A row after its third attempt, whose outcome is unknown. */
export function uncertainRow(changes: Partial<NotificationRow> = {}): NotificationRow {
  const next_retry_at = iso(600_000);
  const work_at = next_retry_at;
  return dueRow({ ...email, send_status: 'RETRY', error_type: 'NETWORK_TIMEOUT', next_retry_at, work_at, ...changes });
}
