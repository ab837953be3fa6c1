import { type ErrorType, policyOf } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { Random } from '../model/random.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { epochMs, isoAfter } from '../model/time.ts';
import { backoffDelay } from './backoff.ts';
import type { Refused, SendResult } from './sender.ts';

/** What becomes of a notification after an attempt. */
export type Verdict =
  | { readonly status: 'SUCCESS' }
  | {
      readonly status: 'RETRY';
      readonly error_type: ErrorType;
      readonly next_retry_at: string;
      readonly counted: boolean;
    }
  | {
      readonly status: 'FAILED';
      /** What went wrong last. */
      readonly error_type: ErrorType;
      /** Why nothing more is tried. */
      readonly failure_reason: ErrorType;
      readonly dead_letter: boolean;
      /** It goes on on its fallback channel. */
      readonly successor_log_id?: string;
    };

/** An attempt under judgement. */
export interface Attempt {
  /** The row as claimed for this attempt. */
  readonly row: NotificationRow;
  readonly first_attempt_at: string;
  readonly now: Date;
  /** An operator's forced attempt on a dead notification: there is just this one. */
  readonly forced_dead?: boolean;
  /** The provider is down: a failure is not the notification's. */
  readonly provider_down?: boolean;
}

/**
 * Decides after an attempt, and does nothing (design §5; batch-952-notification-retry.md §5 and §6): permanent errors
 * end it, transient ones are retried while the limit and the retention deadline allow.
 */
export function judge(result: SendResult, attempt: Attempt, policy: RetryPolicy, random: Random): Verdict {
  if (result.ok) return { status: 'SUCCESS' };
  const error = policyOf(result.error_type);
  if (error.class === 'permanent') return giveUp(result.error_type, result.error_type);
  if (attempt.forced_dead) return giveUp(attempt.row.failure_reason ?? 'MAX_RETRIES', result.error_type);
  return judgeTransient(result, attempt, policy, random);
}

function judgeTransient(result: Refused, attempt: Attempt, policy: RetryPolicy, random: Random): Verdict {
  const { row } = attempt;
  const counted = !attempt.provider_down && (result.counted ?? policyOf(result.error_type).counted);
  if (counted && row.attempts_left <= 0) return giveUp('MAX_RETRIES', result.error_type);
  const delay = backoffDelay(
    {
      error_type: result.error_type,
      retries_made: counted ? row.send_attempts - 1 : row.send_attempts - 2,
      ...(result.retry_after_ms !== undefined && { retry_after_ms: result.retry_after_ms }),
    },
    policy,
    random,
  );
  const next_retry_at = isoAfter(attempt.now, delay);
  const late = epochMs(next_retry_at) > deadlineOf(attempt.first_attempt_at, row, policy);
  if (late) return giveUp('EXPIRED', result.error_type);
  return { status: 'RETRY', error_type: result.error_type, next_retry_at, counted };
}

/** The attempt is put off, as the provider is down; it uses no retry up, but the deadline still bounds it. */
export function heldVerdict(until: string, error_type: ErrorType, attempt: Attempt, policy: RetryPolicy): Verdict {
  const late = epochMs(until) > deadlineOf(attempt.first_attempt_at, attempt.row, policy);
  if (late) return giveUp('EXPIRED', error_type);
  return { status: 'RETRY', error_type, next_retry_at: until, counted: false };
}

export function giveUp(failure_reason: ErrorType, error_type: ErrorType): Verdict {
  return { status: 'FAILED', error_type, failure_reason, dead_letter: policyOf(failure_reason).dead_letter };
}

/** The last moment, in epoch milliseconds, at which a retry may be made: batch-952-notification-retry.md §5.2. */
export function deadlineOf(
  first_attempt_at: string,
  row: Pick<NotificationRow, 'priority'>,
  policy: RetryPolicy,
): number {
  return epochMs(first_attempt_at) + policy.priorities[row.priority].retention_ms;
}

export function limitOf(row: Pick<NotificationRow, 'priority' | 'max_retry_count'>, policy: RetryPolicy): number {
  return row.max_retry_count ?? policy.priorities[row.priority].max_retries;
}
