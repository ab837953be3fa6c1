import { CHANNELS, type Channel, PRIORITIES, type Priority } from './channels.ts';
import { ERROR_TYPES, type ErrorType } from './error-types.ts';
import { entryOf } from './text.ts';

/** his-notification-log-table.md, chk_notification_log_status. */
export const SEND_STATUSES = ['PENDING', 'SENDING', 'SUCCESS', 'FAILED', 'RETRY'] as const;
export type SendStatus = (typeof SEND_STATUSES)[number];

export const MESSAGE_FORMATS = ['PLAIN', 'HTML', 'MARKDOWN'] as const;
export type MessageFormat = (typeof MESSAGE_FORMATS)[number];

export const RECIPIENT_TYPES = ['USER', 'GROUP', 'CHANNEL', 'WEBHOOK'] as const;
export type RecipientType = (typeof RECIPIENT_TYPES)[number];

/** Purposes of encryption: first part of a data key's `key_id`, and `purpose` in KMS's context, which rights name. */
export const SEALED = { recipients: 'recipient', members: 'member' } as const;

/**
 * A row of NotificationLog as the pipeline sees it: routing and state, never content.
 * Attribute names are the table's. Times are ISO-8601 UTC with milliseconds.
 */
export interface NotificationRow {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly send_status: SendStatus;
  /** Attempts that count against the limit, with the first send and one in progress: 0…limit + 1. */
  readonly send_attempts: number;
  /** Attempts that may still be made, with the first send: limit + 1 − send_attempts, never below 0. */
  readonly attempts_left: number;
  /** Retries made so far: send_attempts − 1, never below 0. */
  readonly retry_count: number;
  /** Number of the newest attempt, counted or not: −1 before the first send. It never decreases. */
  readonly last_attempt: number;
  /** Number of the first attempt since its writer has put the row anew or corrected it; absent in its first life. */
  readonly life?: number;
  /** Of a delivered row that its writer has corrected since: number of the life that begins if the delivery comes back. */
  readonly next_life?: number;
  /** The row's own limit of retries; absent: the limit of its priority. */
  readonly max_retry_count?: number;
  readonly first_attempt_at?: string;
  readonly next_retry_at?: string;
  /**
   * Time of day (`HH:MM:SS`) of the `work_at` for which a message is queued already, so that no sweep queues another;
   * `~HHMMSS` of one that its writer sends, or leaves to a look ahead (urgent and important rows only).
   */
  readonly queued_for?: string;
  /** `due#<priority>#<shard>` or `dead#<priority>#<shard>`; absent when no work is left. */
  readonly work_queue?: string;
  readonly work_at?: string;
  /** Meaningful while send_status is SENDING: until this time, no other worker may make an attempt. */
  readonly claim_until?: string;
  /** Token of the newest claim: a worker recognises its own claim by it when the write was repeated. */
  readonly claim_id?: string;
  readonly error_type?: ErrorType;
  readonly error_message?: string;
  readonly failure_reason?: ErrorType;
  /** The SQS message that carries this letter (docs/decisions/delivery/dead-letters-and-redrive.md), and its run. */
  readonly dead_message_id?: string;
  readonly dead_run_id?: string;
  /** `enqueued_at` of the dead letter if it is a copy. */
  readonly dead_enqueued_at?: string;
  /** When SQS took the dead letter: what came in its place, an operator's redrive or a worker's copy, is later. */
  readonly dead_sent_at?: string;
  readonly redrive_count?: number;
  /** Set anew by each write that enters or leaves a final state (row-change.ts). */
  readonly turn?: string;
  /** The operator's replay that last sent it again: the same replay, started again, skips it. */
  readonly replay_id?: string;
  readonly response_code?: string;
  readonly response_message?: string;
  readonly sent_at?: string;
  /** The earliest proof that it arrived; absent again when events have withdrawn all proof (delivery-event-plan.ts). */
  readonly delivered_at?: string;
  readonly opened_at?: string;
  /** The latest bounce that counted when its event came. */
  readonly bounced_at?: string;
  readonly complained_at?: string;
  /** The recipient complained, or the provider sends nothing to them any more: a replay never sends it. */
  readonly suppressed?: true;
  /** What the provider's events prove about each attempt, by its number. */
  readonly delivery_by_attempt?: DeliveryByAttempt;
  /** An event showed that more attempts are pointless: the next message gives up for this reason, and sends nothing. */
  readonly give_up?: ErrorType;
  readonly integration_config_id?: string;
  readonly created_by?: string;
  /** Without an integration: the host of a recipient that is an https URL (channels.ts). */
  readonly provider_host?: string;
  /** Keyed hash of tenant and recipient. */
  readonly recipient_hash?: string;
  /** The channel that continues it when it is given up; the recipient there is kept with the content. */
  readonly fallback_channel?: Channel;
  /** The notification that continues this one, and the one that this one continues (failover.ts). */
  readonly successor_log_id?: string;
  readonly predecessor_log_id?: string;
  readonly recipient_type?: RecipientType;
  readonly notification_id?: string;
  /** W3C Trace Context, as its producer sent it (trace.ts). */
  readonly traceparent?: string;
  /** Logically deleted: it is not sent any more. */
  readonly is_deleted?: boolean;
  /** When an operator erased its recipient and content (`ops forget`); it is deleted then, too. */
  readonly erased_at?: string;
  /** Set by each of our writes. */
  readonly updated_at?: string;
  /** UPDATED_BY, unless another writer has changed the row since our last write. */
  readonly updated_by?: string;
  /** JSON: the last failure, in short; the retry record has the whole answer. Empty once it is delivered. */
  readonly error_details?: string;
  /** JSON of the accepted attempt's record, until RetryLog takes it; so long the row stays in the work index. */
  readonly record_due?: string;
  /** Epoch seconds. */
  readonly expires_at?: number;
}

/** `updated_by` of a row that the pipeline wrote last. The stream filter of the indexer reads it. */
export const UPDATED_BY = 'notification-retry';

/** `created_by` of a row that came through the API; every other writer has access to the table itself. */
export const INTAKE_API = 'intake-api';

/** A row of NotificationContent, decrypted: the message and its recipient. Never logged, never queued. */
export interface NotificationContent extends WriterNotes {
  readonly recipient: string;
  readonly subject?: string;
  readonly body: string;
  readonly format: MessageFormat;
  /** The recipient when it is given up; stored for the successor, and never read here. */
  readonly fallback?: { readonly recipient: string; readonly integration_config_id?: string };
}

/** What the row's writer noted about its own attempt: TEXT columns of any length, stored with the content. */
export const NOTES = ['response_message', 'error_details'] as const;
export type WriterNotes = Readonly<Partial<Record<(typeof NOTES)[number], string>>>;

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
  /** Set when the notification was given up after this attempt. */
  readonly failure_reason?: ErrorType;
  readonly next_retry_at?: string;
  /** The attempt used up no retry: a rate limit, or the provider was never asked. */
  readonly uncounted?: true;
  readonly response_code?: string;
  readonly response_message?: string;
  readonly provider_message_id?: string;
  readonly duration_ms: number;
  readonly trigger: Trigger;
  /** Absent in records from before there was this field. */
  readonly requested_by?: RequestedBy;
  readonly remedy?: string;
  /** Of the claim whose attempt it is: a writer that replaces the row starts its attempts anew. */
  readonly claim_id?: string;
  /** What a delivery event has shown of the attempt; absent while the record is what a worker wrote. */
  readonly evidence?: DeliveryEvidence;
  readonly run_id: string;
  /** The attempt's own span in the trace of its notification (trace.ts). */
  readonly traceparent?: string;
  /** That of its row, in epoch seconds. */
  readonly expires_at?: number;
}

/** What started an attempt. `sweep`: by itself, retries too; `redrive`: of a letter, a notification's is `manual`. */
export type Trigger = 'sweep' | 'manual' | 'redrive';

/**
 * Who asked for an attempt: nobody (`schedule`), an end user or producer through the API, an operator by command or
 * console, or whoever ran the job BATCH-952 by hand.
 */
export const REQUESTED_BY = ['schedule', 'user', 'operator', 'job'] as const;
export type RequestedBy = (typeof REQUESTED_BY)[number];

/**
 * What a provider's events say about an attempt, the weakest first: the message came back, but for a reason that may
 * pass or that is not proven; a receiving server took the message; the message came back after all, for good; the
 * recipient opened it or complained about it, and so has it. Stored, so these words must never change.
 */
export const EVIDENCE = ['soft_bounced', 'delivered', 'bounced', 'seen'] as const;
export type DeliveryEvidence = (typeof EVIDENCE)[number];

/** By attempt number. The strongest evidence of an attempt counts, in whatever order its events come. */
export type DeliveryByAttempt = Readonly<Record<string, DeliveryEvidence>>;

export function withEvidence(
  known: DeliveryByAttempt = {},
  attempt: number,
  evidence: DeliveryEvidence,
): DeliveryByAttempt {
  const before = known[attempt];
  const stronger = before === undefined || EVIDENCE.indexOf(evidence) > EVIDENCE.indexOf(before);
  return stronger ? { ...known, [attempt]: evidence } : known;
}

/** One of the attempts has reached the recipient: another attempt would be a duplicate. */
export function arrived(known?: DeliveryByAttempt | null): boolean {
  return Object.values(known ?? {}).some((evidence) => evidence === 'delivered' || evidence === 'seen');
}

/** A row as its writer left it, with any attributes of any type. */
export type ForeignRow = Readonly<Record<string, unknown>>;

/** Columns that hold one of a few words. Whoever may write to the table may have put any text there, also an address. */
const WORDS = {
  channel: CHANNELS,
  fallback_channel: CHANNELS,
  priority: PRIORITIES,
  send_status: SEND_STATUSES,
  error_type: ERROR_TYPES,
  failure_reason: ERROR_TYPES,
  recipient_type: RECIPIENT_TYPES,
} as const;

/** The words that the column may hold; undefined for any other column. */
export function wordsOf(column: string): readonly unknown[] | undefined {
  return entryOf<readonly unknown[]>(WORDS, column);
}

/** The columns of the content; FALLBACK_COLUMNS: of the fallback recipient (failover.ts), which few rows have. */
export const CONTENT_COLUMNS = ['recipient_address', 'subject', 'message_body', 'message_format'] as const;
export const FALLBACK_COLUMNS = ['fallback_recipient', 'fallback_integration_config_id'] as const;
export const GIVEN_COLUMNS = [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS] as const;

/** What a row keeps of what others said about its recipient, beside what its writer put into it. */
export const TOLD_COLUMNS = ['error_message', 'response_message', 'error_details', 'provider_host'] as const;

/** The row holds content or recipients, which must not stay in it: its writer has put them there since it was taken in. */
export function hasContent(row: object): boolean {
  return GIVEN_COLUMNS.some((column) => ((row as ForeignRow)[column] ?? null) !== null);
}

/** Whether what a bounce was to end may be sent after all: new content says who gets it, or what did not fit. */
export function mayArrive(row: object): boolean {
  const { give_up, recipient_address } = row as ForeignRow;
  return hasContent(row) && (give_up !== 'INVALID_RECIPIENT' || (recipient_address ?? '') !== '');
}

/** A row as the pipeline reads it, with defaults for the counters that its writer left out. */
export function asNotification(row: ForeignRow): NotificationRow {
  return { ...row, send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1, ...row } as NotificationRow;
}
