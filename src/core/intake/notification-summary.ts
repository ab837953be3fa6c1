import { CHANNELS, priorityOf } from '../model/channels.ts';
import { errorTypeIn } from '../model/error-types.ts';
import { createdAt } from '../model/history-index.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { failedAt } from '../model/row-state.ts';
import { withoutAddresses } from '../model/text.ts';
import { parseTime } from '../model/time.ts';
import { canRetry, errorMessage, publicState } from './public-state.ts';

/** Copied from the row if present. */
const COLUMNS = ['notification_id', 'successor_log_id', 'predecessor_log_id'] as const;
/** Other writers may have written them in other forms, or nothing that is a time. */
const TIMES = ['scheduled_at', 'sent_at', 'delivered_at'] as const;

/** The producer's view; application/contract/api/answers.ts describes it. @param row with its writer's columns */
export function summaryOf(row: NotificationRow & { readonly [column: string]: unknown }, now: Date) {
  const status = publicState(row, now);
  const message = errorMessage(row, now);
  const named = row.channel ?? row['notification_type'];
  const channel = CHANNELS.find((one) => typeof named === 'string' && one === named.toLowerCase());
  return {
    log_id: row.log_id,
    ...(channel !== undefined && { channel }),
    priority: priorityOf(row),
    status,
    canRetry: canRetry(row, now),
    ...(message !== undefined && { errorMessage: message }),
    retry_count: countOf(row.retry_count),
    ...(status === 'retrying' && timesOf(row, ['next_retry_at'])),
    ...((status === 'failed' || status === 'retrying') && detailsOf(row)),
    ...createdOf(row),
    ...(typeof row['template_id'] === 'string' && { job_type: row['template_id'] }),
    ...(status === 'failed' && failureOf(row, now)),
    ...timesOf(row, TIMES),
    ...Object.fromEntries(COLUMNS.filter((name) => typeof row[name] === 'string').map((name) => [name, row[name]])),
  };
}

function failureOf(row: NotificationRow, now: Date) {
  const error_type = errorTypeIn(row.error_type ?? row.failure_reason);
  const failed_at = failedAt(row);
  return {
    ...(error_type !== undefined && { error_type }),
    ...(failed_at !== undefined && { failed_at }),
    retryable: canRetry(row, now),
  };
}

const countOf = (value: unknown): number => (Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0);

function createdOf(row: Readonly<Record<string, unknown>>): { readonly created_at?: string } {
  const created = createdAt(row);
  return created ? { created_at: created } : timesOf(row, ['created_at']);
}

function timesOf<N extends string>(row: Readonly<Record<string, unknown>>, names: readonly N[]) {
  const times: { [name in N]?: string } = {};
  for (const name of names) {
    const written = row[name];
    const time = typeof written === 'string' ? parseTime(written)?.toISOString() : undefined;
    if (time !== undefined) times[name] = time;
  }
  return times;
}

function detailsOf({ error_details }: { readonly error_details?: unknown }): { readonly error_details?: string } {
  return typeof error_details === 'string' && error_details !== ''
    ? { error_details: withoutAddresses(error_details) }
    : {};
}

/** The producer's view of an attempt. Only `error_details` holds the provider's own words, and none of its addresses. */
export function attemptOf(record: RetryRecord) {
  const { retry_attempt, retry_at, retry_status, error_type, response_code } = record;
  return {
    attempt: retry_attempt,
    at: retry_at,
    status: retry_status,
    ...(error_type !== undefined && { error_type }),
    ...(response_code !== undefined && { response_code }),
    ...detailsOf(record),
  };
}
