import { CHANNELS, type Channel, type Priority } from '../model/channels.ts';
import { ERROR_TYPES, type ErrorType } from '../model/error-types.ts';
import { createdAt } from '../model/history-index.ts';
import { type NotificationRow, priorityOf, type RetryRecord } from '../model/notification.ts';
import { failedAt } from '../model/row-state.ts';
import { withoutAddresses } from '../model/text.ts';
import { parseTime } from '../model/time.ts';
import { canRetry, errorMessage, type PublicState, publicState } from './public-state.ts';

/** The producer's view of its notification. */
export interface NotificationSummary {
  readonly log_id: string;
  /** Absent if the row, which its writer put itself, names none that exists. */
  readonly channel?: Channel;
  readonly priority: Priority;
  readonly status: PublicState;
  readonly canRetry: boolean;
  readonly errorMessage?: string;
  readonly retry_count: number;
  readonly next_retry_at?: string;
  /** Only while `status` is failed or retrying: the last failure, JSON where we wrote it, addresses masked. */
  readonly error_details?: string;
  /** Absent if the row, which its writer put itself, has no time that exists. */
  readonly created_at?: string;
  readonly scheduled_at?: string;
  /** When the provider accepted it. */
  readonly sent_at?: string;
  /** When the provider confirmed delivery, on channels that report it. */
  readonly delivered_at?: string;
  readonly notification_id?: string;
  /** The notification that continues this one on its fallback channel; predecessor_log_id is the reverse link. */
  readonly successor_log_id?: string;
  readonly predecessor_log_id?: string;
  /** What kind of job it is: its template_id. */
  readonly job_type?: string;
  /** Only while `status` is failed: the last error, when it was given up, and whether a retry may help. */
  readonly error_type?: ErrorType;
  readonly failed_at?: string;
  readonly retryable?: boolean;
}

/** The producer's view of an attempt. Only `error_details` holds the provider's own words, and none of its addresses. */
interface AttemptSummary {
  readonly attempt: number;
  readonly at: string;
  readonly status: RetryRecord['retry_status'];
  readonly error_type?: string;
  readonly response_code?: string;
  /** JSON: what the provider answered, or what held the attempt; shortened. */
  readonly error_details?: string;
}

/** Copied from the row if present. */
const COLUMNS = [
  'scheduled_at',
  'sent_at',
  'delivered_at',
  'notification_id',
  'successor_log_id',
  'predecessor_log_id',
] as const;

/** @param row with the columns of its writer */
export function summaryOf(row: NotificationRow & { readonly [column: string]: unknown }, now: Date) {
  const status = publicState(row, now);
  const message = errorMessage(row, now);
  const named = row.channel ?? row['notification_type'];
  const channel = CHANNELS.find((one) => typeof named === 'string' && one === named.toLowerCase());
  const summary: NotificationSummary = {
    log_id: row.log_id,
    ...(channel !== undefined && { channel }),
    priority: priorityOf(row),
    status,
    canRetry: canRetry(row, now),
    ...(message !== undefined && { errorMessage: message }),
    retry_count: countOf(row.retry_count),
    ...(status === 'retrying' && row.next_retry_at !== undefined && { next_retry_at: row.next_retry_at }),
    ...((status === 'failed' || status === 'retrying') && detailsOf(row)),
    ...createdOf(row),
    ...(typeof row['template_id'] === 'string' && { job_type: row['template_id'] }),
    ...(status === 'failed' && failureOf(row, now)),
    ...Object.fromEntries(COLUMNS.filter((name) => typeof row[name] === 'string').map((name) => [name, row[name]])),
  };
  return summary;
}

function failureOf(row: NotificationRow, now: Date): Partial<NotificationSummary> {
  const error_type = ERROR_TYPES.find((type) => type === (row.error_type ?? row.failure_reason));
  const failed_at = failedAt(row);
  return {
    ...(error_type !== undefined && { error_type }),
    ...(failed_at !== undefined && { failed_at }),
    retryable: canRetry(row, now),
  };
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0;
}

function createdOf(row: Readonly<Record<string, unknown>>): { readonly created_at?: string } {
  const written = row['created_at'];
  const created = createdAt(row) || (typeof written === 'string' ? parseTime(written)?.toISOString() : undefined);
  return created === undefined ? {} : { created_at: created };
}

function detailsOf({ error_details }: { readonly error_details?: unknown }): { readonly error_details?: string } {
  return typeof error_details === 'string' && error_details !== ''
    ? { error_details: withoutAddresses(error_details) }
    : {};
}

export function attemptOf(record: RetryRecord) {
  const { retry_attempt, retry_at, retry_status, error_type, response_code } = record;
  const attempt: AttemptSummary = {
    attempt: retry_attempt,
    at: retry_at,
    status: retry_status,
    ...(error_type !== undefined && { error_type }),
    ...(response_code !== undefined && { response_code }),
    ...detailsOf(record),
  };
  return attempt;
}
