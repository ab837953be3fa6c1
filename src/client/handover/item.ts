import { canonical, checkedKey, keyOf } from './idempotency-key.ts';
import type { BatchNotification, FailedAttempt, Notification, Problem } from './notification.ts';

/** What is to be handed over, as it is sent and as it is spooled: a notification, or the failure of one that the API has. */
export type Item = {
  readonly idempotency_key: string;
  /** In data/failed: why the API refused it. */
  readonly problem?: Problem;
} & (
  | { readonly kind: 'notification'; readonly body: Notification }
  | { readonly kind: 'failure'; readonly log_id: string; readonly body: FailedAttempt }
);

/** @throws TypeError when it is not JSON, or the key is none. */
export function notificationItem(given: BatchNotification, idempotencyKey?: string): Item {
  const { idempotency_key, ...content } = given;
  const body: Notification = JSON.parse(canonical(content));
  // How and when a producer's own send failed differs from run to run; that makes no other notification of it.
  const { failed_attempt: _, ...itself } = body;
  const key = idempotencyKey ?? idempotency_key;
  return { idempotency_key: key === undefined ? keyOf(itself) : checkedKey(key), kind: 'notification', body };
}

/**
 * Says when the send was made, now unless told: by that the API knows this report again, asked or flushed later on.
 * @throws TypeError when it is not JSON, or the log_id is empty.
 */
export function failureItem(log_id: string, failure: FailedAttempt, now: Date): Item {
  if (log_id === '') throw new TypeError('The log_id of the notification that failed is missing.');
  const body: FailedAttempt = JSON.parse(
    canonical({ ...failure, attempted_at: failure.attempted_at ?? now.toISOString() }),
  );
  return { idempotency_key: keyOf({ log_id, failure: body }), kind: 'failure', log_id, body };
}
