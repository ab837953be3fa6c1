import { limitOf } from '../delivery/verdict.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { workQueueOf } from '../model/work-index.ts';

/**
 * Puts a notification that was given up back to work, due now, as an operator's redrive does (design §6.5): budget and
 * window start anew.
 *
 * The row is due work from this one write on. If nobody sends its message, the next sweep does, so a command that dies
 * after it has lost nothing; and its old dead letter, if there is one, is a straggler from then on.
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
      work_queue: workQueueOf('due', row.priority, row.log_id),
      work_at: due,
      next_retry_at: due,
      // Emptied, as a statement that goes in batches removes one attribute at most (decision 0005).
      ...(row.dead_message_id !== undefined && { dead_message_id: '' }),
      ...(row.dead_run_id !== undefined && { dead_run_id: '' }),
      ...(replay_id !== undefined && { replay_id }),
    },
    remove: ['failure_reason'],
  };
}
