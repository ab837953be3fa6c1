import type { ErrorType } from '../../model/error-types.ts';
import { createdAt } from '../../model/history-index.ts';
import { asNotification, type ForeignRow } from '../../model/notification.ts';
import { type RowState, stateOf } from '../../model/row-state.ts';
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

/** Why an operation leaves a notification in a state that it does not take. */
export const LEFT = {
  delivered: 'delivered',
  claimed: 'claimed',
  abandoned: 'claimed',
  set_aside: 'set_aside',
  stopped: 'dropped',
  due: 'retrying',
  waiting: 'retrying',
  not_taken_in: 'retrying',
  // Only the fallback of kinds that do not take the dead: they match what waits, and it was given up meanwhile.
  dead: 'retrying',
} as const satisfies Readonly<Record<RowState, Exclusion>>;

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
  const state = stateOf(notification, now);
  if (state === 'stopped' && notification.successor_log_id !== undefined) return 'failed_over';
  if (notification.suppressed) return 'recipient_suppressed';
  if (state === 'dead' || (state === 'stopped' && selection.include_stopped)) return expiry(row, selection, now);
  const { failure_reason } = notification;
  const isNamed = failure_reason === 'INVALID_RECIPIENT' || failure_reason === 'CANCELLED';
  return state === 'stopped' && isNamed ? failure_reason : LEFT[state];
}

function expiry(row: ForeignRow, { max_age_ms }: Selection, now: Date): Exclusion | undefined {
  if (max_age_ms === undefined) return undefined;
  const created = epochMs(createdAt(row));
  return created >= now.getTime() - max_age_ms ? undefined : 'expired';
}
