import type { Channel } from './channels.ts';
import type { DeliveryByAttempt } from './delivery-by-attempt.ts';
import type { ErrorType } from './error-types.ts';
import type { Priority } from './priorities.ts';

/** his-notification-log-table.md, chk_notification_log_status. */
export const SEND_STATUSES = ['PENDING', 'SENDING', 'SUCCESS', 'FAILED', 'RETRY'] as const;
export type SendStatus = (typeof SEND_STATUSES)[number];

export const MESSAGE_FORMATS = ['PLAIN', 'HTML', 'MARKDOWN'] as const;
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

export const RECIPIENT_TYPES = ['USER', 'GROUP', 'CHANNEL', 'WEBHOOK'] as const;
export type RecipientType = (typeof RECIPIENT_TYPES)[number];

/**
 * A row of NotificationLog as the pipeline sees it: routing and state, never content (design §4).
 * Attribute names are the table's. Times are ISO-8601 UTC with milliseconds.
 */
export interface NotificationRow {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly send_status: SendStatus;
  /** Attempts that count against the limit, the first send and one in progress included: 0…limit + 1. */
  readonly send_attempts: number;
  /** Attempts that may still be made, the first send included: limit + 1 − send_attempts, never below 0. */
  readonly attempts_left: number;
  /** Retries made so far: send_attempts − 1, never below 0. */
  readonly retry_count: number;
  /** Number of the newest attempt ever begun, counted or not: −1 before the first send. It never goes back. */
  readonly last_attempt: number;
  /** The row's own limit of retries; absent: the priority's. */
  readonly max_retry_count?: number;
  readonly first_attempt_at?: string;
  readonly next_retry_at?: string;
  /** Time of day (`HH:MM:SS`) of the `work_at` for which a message was queued at once: no sweep queues another ahead of it. */
  readonly queued_for?: string;
  /** `due#<priority>#<shard>` or `dead#<priority>#<shard>`; absent when no work is left. */
  readonly work_queue?: string;
  readonly work_at?: string;
  /** Meaningful while send_status is SENDING: until then nobody else may make an attempt. */
  readonly claim_until?: string;
  readonly error_type?: ErrorType;
  readonly error_message?: string;
  readonly failure_reason?: ErrorType;
  /** The SQS message that carries this dead letter to the DLQ, and the run it belonged to (design §6.5). */
  readonly dead_message_id?: string;
  readonly dead_run_id?: string;
  readonly redrive_count?: number;
  /** The operator's replay that last sent it again, so that the same replay, begun anew, does not repeat it. */
  readonly replay_id?: string;
  readonly response_code?: string;
  readonly response_message?: string;
  readonly sent_at?: string;
  /** The earliest proof that it arrived; absent again when all there was has been withdrawn (delivery-news.ts). */
  readonly delivered_at?: string;
  readonly opened_at?: string;
  /** The latest bounce that counted when it was told. */
  readonly bounced_at?: string;
  readonly complained_at?: string;
  /** The recipient complained, or the provider sends them nothing any more: never to be replayed. */
  readonly suppressed?: true;
  /** What the provider's events told of each attempt, by its number. */
  readonly delivery_by_attempt?: DeliveryByAttempt;
  /** An event showed that more attempts are pointless: the next message gives up with this reason, and sends nothing. */
  readonly give_up?: ErrorType;
  readonly integration_config_id?: string;
  readonly created_by?: string;
  /** Where there is no integration: the host of a recipient that is an https URL (provider-key.ts). */
  readonly provider_host?: string;
  /** Where it goes on when it is given up; the recipient there is kept with the content. */
  readonly fallback_channel?: Channel;
  /** The notification that goes on in its place, and the other way round (failover.ts). */
  readonly successor_log_id?: string;
  readonly predecessor_log_id?: string;
  readonly recipient_type?: RecipientType;
  readonly notification_id?: string;
  /** Logically deleted: nothing is sent any more. */
  readonly is_deleted?: boolean;
  /** Stamped by every write of ours. */
  readonly updated_at?: string;
}

/** `created_by` of what a tenant handed over by the API; everyone else who writes rows may write to the table itself. */
export const INTAKE_API = 'intake-api';

/** A row of NotificationContent, decrypted: what is sent, and to whom. Never logged, never queued. */
export interface NotificationContent {
  readonly recipient: string;
  readonly subject?: string;
  readonly body: string;
  readonly format: MessageFormat;
  /** To whom it goes when it is given up; stored as the successor's, and never read here. */
  readonly fallback?: { readonly recipient: string; readonly integration_config_id?: string };
  /** What the row's writer noted of its own attempt: TEXT columns of any length. */
  readonly response_message?: string;
  readonly error_details?: string;
}

/** A row of NotificationRetryLog: the outcome of one attempt (batch-952-notification-retry.md §4.1). */
export interface RetryRecord {
  readonly retry_log_id: string;
  readonly original_log_id: string;
  readonly retry_attempt: number;
  readonly tenant_id: string;
  readonly channel: Channel;
  readonly retry_at: string;
  readonly retry_status: 'SUCCESS' | 'FAILED' | 'SKIPPED';
  readonly error_type?: ErrorType;
  /** JSON: the provider's raw answer, shortened. */
  readonly error_details?: string;
  /** Set when the notification was given up with this attempt. */
  readonly failure_reason?: ErrorType;
  readonly next_retry_at?: string;
  /** The attempt used up no retry: a rate limit, or the provider was never asked. */
  readonly uncounted?: true;
  readonly response_code?: string;
  readonly response_message?: string;
  readonly provider_message_id?: string;
  readonly duration_ms: number;
  readonly trigger: Trigger;
  readonly remedy?: string;
  readonly run_id: string;
}

/** What set an attempt going. */
export type Trigger = 'sweep' | 'manual' | 'redrive';
