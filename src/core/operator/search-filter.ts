import { priorityOf } from '../indexing/index-plan.ts';
import type { ForeignRow } from '../indexing/row-rules.ts';
import type { Channel } from '../model/channels.ts';
import type { ErrorType } from '../model/error-types.ts';
import type { SendStatus } from '../model/notification.ts';
import type { Priority } from '../model/priorities.ts';

/** Inclusive, ISO-8601 UTC with milliseconds. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

/** What an operator looks for; all that is given must hold. */
export interface SearchFilter {
  readonly send_status?: SendStatus;
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly tenant_id?: string;
  /** What went wrong last, or why it was given up. */
  readonly error_type?: ErrorType;
  /** Keyed hash: whoever searches needs the address, the index never has it. */
  readonly recipient_hash?: string;
  /** When the notification was created. */
  readonly created?: Period;
}

/** Decided on the row as it is now; indexes only narrow down what has to be read. */
export function matches(row: ForeignRow, filter: SearchFilter): boolean {
  const { send_status, channel, priority, tenant_id, error_type, recipient_hash, created } = filter;
  const type = row['channel'] ?? String(row['notification_type'] ?? '').toLowerCase();
  const created_at = createdAt(row);
  return (
    (send_status === undefined || row['send_status'] === send_status) &&
    (channel === undefined || type === channel) &&
    (priority === undefined || priorityOf(row) === priority) &&
    (tenant_id === undefined || row['tenant_id'] === tenant_id) &&
    (error_type === undefined || row['error_type'] === error_type || row['failure_reason'] === error_type) &&
    (recipient_hash === undefined || row['recipient_hash'] === recipient_hash) &&
    (created === undefined || (created_at >= created.from && created_at <= created.to))
  );
}

/** Characters of `2026-11-01T09:00:00.000Z`. */
const ISO_LENGTH = 24;

/** As the history index has it, for a writer's own created_at may be written otherwise; empty when unknown. */
export function createdAt(row: ForeignRow): string {
  return String(row['tenant_created_at'] ?? '').slice(-ISO_LENGTH);
}

/** DynamoDB deletes a row days after it has expired. */
export function isGone(row: ForeignRow, now: Date): boolean {
  return Number(row['expires_at'] ?? Number.POSITIVE_INFINITY) * 1000 <= now.getTime();
}
