import { policyOf } from '../../model/error-types.ts';
import type { NotificationRow } from '../../model/notification.ts';
import { type RowState, stateOf } from '../../model/work/row-state.ts';
import { describeFaults } from '../../model/work/set-aside.ts';
import { workFaults } from '../../model/work/work-rules.ts';

/** Whether a notification can be retried now: the state in which it can, or why it cannot. */
export type RetryCheck =
  | { readonly state: Extract<RowState, 'abandoned' | 'due' | 'waiting' | 'dead' | 'stopped'> }
  | { readonly refused: string };

/** Checks the row as it is. A delivered notification is never sent again (invariant 5). */
export function checkRetry(row: NotificationRow, now: Date): RetryCheck {
  if (row.is_deleted && row.send_status !== 'SUCCESS') {
    return refuse('its writer deleted it (is_deleted); to send it anyway, set is_deleted to false first');
  }
  const state = stateOf(row, now);
  switch (state) {
    case 'delivered':
      return refuse('it is delivered already and is never sent again');
    case 'claimed':
      return refuse(`an attempt is under way until ${row.claim_until} at the latest; check again after that`);
    case 'stopped':
      return checkStopped(row);
    case 'set_aside':
      return refuse(whySetAside(row));
    case 'not_taken_in':
      return refuse('it is not in the work index yet; try again in a few seconds');
    default:
      return { state };
  }
}

function whySetAside(row: NotificationRow): string {
  return row.work_queue === undefined
    ? 'it was set aside as malformed; its writer has to correct the columns that error_message names'
    : `it is malformed, and its writer has to correct it: ${describeFaults(workFaults({ ...row }))}`;
}

function checkStopped({ successor_log_id, failure_reason }: NotificationRow): RetryCheck {
  if (successor_log_id !== undefined) {
    return refuse(`it continues on its fallback channel as ${successor_log_id}; retry that one`);
  }
  return failure_reason === 'INVALID_RECIPIENT'
    ? refuse(`INVALID_RECIPIENT: ${policyOf('INVALID_RECIPIENT').remedy}`)
    : { state: 'stopped' };
}

function refuse(because: string): RetryCheck {
  return { refused: because };
}
