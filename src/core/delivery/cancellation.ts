import type { RowChange } from '../model/row-change.ts';

/** Leaves the work index for good; a message for it that is still queued finds no work, and so does a redriven one. */
export const CANCELLATION: RowChange = {
  set: { send_status: 'FAILED', failure_reason: 'CANCELLED' },
  remove: ['work_queue', 'next_retry_at', 'give_up', 'dead_message_id', 'dead_run_id'],
};
