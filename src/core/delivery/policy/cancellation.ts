import type { RowChange } from '../../model/row-change.ts';

/** Takes the row out of the work index for good. A message for it, queued or redriven, finds no work left. */
export const CANCELLATION: RowChange = {
  set: { send_status: 'FAILED', failure_reason: 'CANCELLED' },
  remove: ['work_queue', 'next_retry_at', 'give_up', 'dead_message_id', 'dead_run_id'],
};
