import type { RetryPolicy } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import type { NotificationRequest } from './notification-request.ts';
import type { FieldFault } from './problem.ts';

/** A row lives two years; what is to be sent later than halfway would leave its history too little of them. */
const LATEST_DAYS = 365;
const DAY_MS = 86_400_000;

/**
 * his-notification-log-table.md, 業務ルール: a notification whose scheduled time has passed is expired. It counts as passed
 * when the priority's window, opened at that time, is over, so that one which spent an hour in a producer's spool still
 * goes out at once, and one that nobody waits for any more is refused.
 */
export function scheduleFault(
  { scheduled_at, priority }: Pick<NotificationRequest, 'scheduled_at' | 'priority'>,
  now: Date,
  policy: RetryPolicy,
): FieldFault | undefined {
  if (scheduled_at === undefined) return undefined;
  const path = 'scheduled_at';
  const window = policy.priorities[priority].retention_ms;
  if (epochMs(scheduled_at) + window < now.getTime()) {
    const hours = window / 3_600_000;
    return { path, rule: 'expired', message: `must not be more than ${hours} h ago, the window of ${priority}` };
  }
  if (epochMs(scheduled_at) > now.getTime() + LATEST_DAYS * DAY_MS) {
    return { path, rule: 'max_days_ahead', message: `must be within ${LATEST_DAYS} days from now` };
  }
  return undefined;
}
