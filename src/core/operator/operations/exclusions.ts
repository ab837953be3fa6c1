import type { ErrorType } from '../../model/error-types.ts';
import { createdAt } from '../../model/history-index.ts';
import { asNotification, type ForeignRow } from '../../model/notification.ts';
import { stateOf } from '../../model/row-state.ts';
import { epochMs } from '../../model/time.ts';

/** Why an operation leaves a notification that matches: a word of its own, or the reason why it was given up. */
export type Exclusion =
  | 'delivered'
  /** An attempt is under way. */
  | 'claimed'
  /** It is retried automatically. */
  | 'retrying'
  /** It is older than the operation accepts. */
  | 'expired'
  /** Its writer deleted it. */
  | 'deleted'
  /** An operator dropped its dead letter. */
  | 'dropped'
  /** It was malformed when it was written: nothing can be sent. */
  | 'set_aside'
  /** The recipient complained, or the provider refuses to send to the recipient. */
  | 'recipient_suppressed'
  | 'beyond_limit'
  /** It changed after the cut-off: it is not what the preview showed. */
  | 'changed'
  /** It continues on its fallback channel. Its successor can be redriven. */
  | 'failed_over'
  | Extract<ErrorType, 'INVALID_RECIPIENT' | 'CANCELLED'>;

export interface Selection {
  /** Oldest age that is sent again, in milliseconds since creation. */
  readonly max_age_ms?: number;
  /** Includes notifications that were cancelled, dropped, or stopped for a wrong recipient. */
  readonly include_stopped?: boolean;
}

/** Why a notification that was given up is not sent again. Undefined: it is sent. */
export function exclusionOf(row: ForeignRow, selection: Selection, now: Date): Exclusion | undefined {
  const notification = asNotification(row);
  if (notification.is_deleted && notification.send_status !== 'SUCCESS') return 'deleted';
  if (notification.successor_log_id !== undefined && notification.failure_reason !== undefined) return 'failed_over';
  if (notification.suppressed) return 'recipient_suppressed';
  switch (stateOf(notification, now)) {
    case 'delivered':
      return 'delivered';
    case 'claimed':
    case 'abandoned':
      return 'claimed';
    case 'due':
    case 'waiting':
    case 'not_taken_in':
      return 'retrying';
    case 'set_aside':
      return 'set_aside';
    case 'stopped':
      return selection.include_stopped ? expiry(row, selection, now) : stopReason(notification.failure_reason);
    case 'dead':
      return expiry(row, selection, now);
  }
}

function stopReason(failure_reason: ErrorType | undefined): Exclusion {
  return failure_reason === 'INVALID_RECIPIENT' || failure_reason === 'CANCELLED' ? failure_reason : 'dropped';
}

function expiry(row: ForeignRow, { max_age_ms }: Selection, now: Date): Exclusion | undefined {
  if (max_age_ms === undefined) return undefined;
  const created = epochMs(createdAt(row));
  return created >= now.getTime() - max_age_ms ? undefined : 'expired';
}
