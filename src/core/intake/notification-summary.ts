import { createdAt } from '../model/history-index.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { canRetry, errorMessage, type PublicState, publicState } from './public-state.ts';

/** The producer's view of its notification. */
export interface NotificationSummary {
  readonly log_id: string;
  readonly channel: string;
  readonly priority: string;
  readonly status: PublicState;
  readonly canRetry: boolean;
  readonly errorMessage?: string;
  readonly retry_count: number;
  readonly next_retry_at?: string;
  readonly created_at: string;
  readonly scheduled_at?: string;
  /** When the provider accepted it. */
  readonly sent_at?: string;
  /** When the provider confirmed delivery, on channels that report it. */
  readonly delivered_at?: string;
  readonly notification_id?: string;
  /** The notification that continues this one on its fallback channel; predecessor_log_id is the reverse link. */
  readonly successor_log_id?: string;
  readonly predecessor_log_id?: string;
}

/** The producer's view of an attempt, without the provider's own words. */
export interface AttemptSummary {
  readonly attempt: number;
  readonly at: string;
  readonly status: RetryRecord['retry_status'];
  readonly error_type?: string;
  readonly response_code?: string;
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
  const type = typeof row['notification_type'] === 'string' ? row['notification_type'].toLowerCase() : '';
  const summary: NotificationSummary = {
    log_id: row.log_id,
    channel: row.channel ?? type,
    priority: row.priority ?? 'normal',
    status,
    canRetry: canRetry(row, now),
    ...(message !== undefined && { errorMessage: message }),
    retry_count: row.retry_count,
    ...(status === 'retrying' && row.next_retry_at !== undefined && { next_retry_at: row.next_retry_at }),
    created_at: createdAt(row) || String(row['created_at'] ?? ''),
    ...Object.fromEntries(COLUMNS.filter((name) => typeof row[name] === 'string').map((name) => [name, row[name]])),
  };
  return summary;
}

export function attemptOf({ retry_attempt, retry_at, retry_status, error_type, response_code }: RetryRecord) {
  const attempt: AttemptSummary = {
    attempt: retry_attempt,
    at: retry_at,
    status: retry_status,
    ...(error_type !== undefined && { error_type }),
    ...(response_code !== undefined && { response_code }),
  };
  return attempt;
}
