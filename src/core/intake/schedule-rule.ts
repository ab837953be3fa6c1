import type { FieldFault } from '../model/problem.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import type { NotificationRequest } from './notification-request.ts';

/** A row lives two years. A later scheduled time would leave too little of them for its history. */
const LATEST_DAYS = 365;
const DAY_MS = 86_400_000;

/**
 * A notification whose scheduled time has passed is expired (his-notification-log-table.md, 業務ルール). The time counts as
 * passed when the retry window of the priority, counted from that time, is over. So a notification that spent an hour
 * in a producer's spool is still sent at once, and one that is no longer useful is refused.
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
    return {
      path,
      rule: 'expired',
      message: `must not be more than ${hours} h ago, the retry window of the priority ${priority}`,
    };
  }
  if (epochMs(scheduled_at) > now.getTime() + LATEST_DAYS * DAY_MS) {
    return { path, rule: 'max_days_ahead', message: `must be within ${LATEST_DAYS} days from now` };
  }
  return undefined;
}
