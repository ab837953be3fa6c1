import { CONTENT_COLUMNS, FALLBACK_COLUMNS } from '../../../core/model/foreign-row.ts';
import type { NotificationRow } from '../../../core/model/notification.ts';

/** Columns that say how far a row has come. Each claim changes `last_attempt`, so a claim in between is noticed. */
export const STATE_COLUMNS = [
  'send_status',
  'last_attempt',
  'work_queue',
  'work_at',
] as const satisfies readonly (keyof NotificationRow)[];

/** For claims by a plan: also what the plan reads and others may write without a change of state. */
export const CLAIM_COLUMNS = [
  ...STATE_COLUMNS,
  'delivery_by_attempt',
  'give_up',
  'is_deleted',
] as const satisfies readonly (keyof NotificationRow)[];

/**
 * What a plan for a row depends on, with its values as they were read. Content that its writer puts into the row between
 * the read and the claim stops the claim: what is stored would go to the former recipient.
 */
export function claimGuard(row: NotificationRow): Record<string, unknown> {
  const read: Readonly<Record<string, unknown>> = { ...row };
  const absent = [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].filter((column) => (read[column] ?? null) === null);
  return Object.fromEntries([
    ...CLAIM_COLUMNS.map((column) => [column, read[column]]),
    ...absent.map((column) => [column, undefined]),
  ]);
}

/** For delivery events: two of them can come at once, in one millisecond, and neither changes the row's state. */
export const EVENT_COLUMNS = [...CLAIM_COLUMNS, 'updated_at'] as const satisfies readonly (keyof NotificationRow)[];

/**
 * Columns that a foreign row's writer, or the pipeline, may change after the image was taken; indexing must not
 * overwrite that.
 */
export const IMAGE_COLUMNS = [
  'send_status',
  'is_deleted',
  'created_at',
  'created_by',
  'tenant_id',
  'notification_type',
  'channel',
  'priority',
  'priority_level',
  'send_attempts',
  'retry_count',
  'max_retry_count',
  'next_retry_at',
  'recipient_address',
  'subject',
  'message_body',
  'message_format',
  'fallback_channel',
  'fallback_recipient',
  'fallback_integration_config_id',
  'response_message',
  'error_details',
  'failure_reason',
  'last_attempt',
  'work_queue',
  'work_at',
] as const;
