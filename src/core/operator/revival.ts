import { limitOf } from '../delivery/verdict.ts';
import type { NotificationRow } from '../model/notification.ts';
import { queuedFor } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { movedQueue } from '../model/work-index.ts';

/**
 * The change that makes a notification that was given up due now, as an operator's redrive does
 * (docs/decisions/delivery/dead-letters-and-redrive.md). Its retry budget and its window start anew.
 *
 * After this one write the row is due work. If its message is not sent, the next sweep sends one, so a command that
 * dies after the write loses nothing. An old dead letter becomes a straggler.
 */
export function revival(row: NotificationRow, now: Date, policy: RetryPolicy, replay_id?: string): RowChange {
  const due = now.toISOString();
  return {
    set: {
      send_status: 'RETRY',
      send_attempts: 0,
      attempts_left: limitOf(row, policy) + 1,
      retry_count: 0,
      first_attempt_at: due,
      redrive_count: (row.redrive_count ?? 0) + 1,
      work_queue: movedQueue('due', row),
      work_at: due,
      ...queuedFor(due, row.priority, now),
      next_retry_at: due,
      // Set to empty: a batched statement removes at most one attribute
      // (docs/decisions/delivery/claims-and-messages.md#0005).
      ...(row.dead_message_id !== undefined && { dead_message_id: '' }),
      ...(row.dead_run_id !== undefined && { dead_run_id: '' }),
      ...(replay_id !== undefined && { replay_id }),
    },
    remove: ['failure_reason'],
  };
}
