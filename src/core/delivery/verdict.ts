import { type ErrorType, policyOf } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { MAX_DELAY_MS } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { epochMs, isoAfter } from '../model/time.ts';
import type { Held, Refused, RetryTerms, SendResult } from './ports.ts';

export type Verdict =
  | { readonly status: 'SUCCESS' }
  | {
      readonly status: 'RETRY';
      readonly error_type: ErrorType;
      readonly next_retry_at: string;
      readonly counted: boolean;
      /** The integration's own limit, by which the row's attempts left are counted from now on. */
      readonly max_retries?: number;
    }
  | {
      readonly status: 'FAILED';
      /** The last failure. */
      readonly error_type: ErrorType;
      readonly failure_reason: ErrorType;
      readonly dead_letter: boolean;
      /** The notification that continues it on its fallback channel. */
      readonly successor_log_id?: string;
    };

/**
 * Why a row with attempts left is not sent, if there is a reason. A row without a first attempt has no deadline yet.
 */
export function reasonNotToSend(row: NotificationRow, now: Date, policy: RetryPolicy): ErrorType | undefined {
  if (row.is_deleted) return 'CANCELLED';
  if (row.give_up !== undefined) return row.give_up;
  const late = row.first_attempt_at !== undefined && deadlineOf(row.first_attempt_at, row, policy) < now.getTime();
  return late ? 'EXPIRED' : undefined;
}

/** An operator's force or redrive overrides limit and deadline, but not a deletion or a permanent error. */
export function reasonNotToForce({ is_deleted, give_up }: NotificationRow): ErrorType | undefined {
  if (is_deleted) return 'CANCELLED';
  return give_up !== undefined && policyOf(give_up).class === 'permanent' ? give_up : undefined;
}

export interface Judging {
  /** The row as claimed for this attempt. */
  readonly row: NotificationRow;
  readonly first_attempt_at: string;
  readonly now: Date;
  /** An operator's forced attempt on a dead notification: no retry follows it. */
  readonly forced_dead?: boolean;
  /** Limit and deadline do not count. */
  readonly forced?: boolean;
  /** The provider is down, so a failure does not count against the notification. */
  readonly provider_down?: boolean;
  /** Its receiver has a budget: a refusal for the rate is over when the receiver says so. */
  readonly paced?: true | undefined;
}

/**
 * Decides what becomes of a notification, and writes nothing (batch-952-notification-retry.md §5 and §6). A
 * permanent error ends the notification; a transient one is retried while the limit and the retention deadline allow.
 */
export function judge(result: SendResult, judging: Judging, rules: RetryRules): Verdict {
  if (result.ok) return { status: 'SUCCESS' };
  const error = policyOf(result.error_type);
  if (error.class === 'permanent') return failedBecause(result.error_type, result.error_type);
  if (judging.forced_dead) return failedBecause(judging.row.failure_reason ?? 'MAX_RETRIES', result.error_type);
  return judgeTransient(result, judging, rules);
}

function judgeTransient(result: Refused, judging: Judging, rules: RetryRules): Verdict {
  const { row } = judging;
  const counted = !judging.provider_down && (result.counted ?? policyOf(result.error_type).counted);
  const { base_interval_ms = rules.policy.base_interval_ms, max_retries } = termsOf(result, row);
  const left = max_retries === undefined ? row.attempts_left : attemptsLeft(max_retries, row.send_attempts);
  if (counted && left <= 0) return failedBecause('MAX_RETRIES', result.error_type);
  const limited = judging.paced && result.error_type === 'RATE_LIMITED' && (result.retry_after_ms ?? LIMIT_MS);
  const retries_made = row.send_attempts - (counted ? 1 : 2);
  const ofRow = { ...rules, policy: { ...rules.policy, base_interval_ms } };
  const delay = limited || backoffDelay({ ...result, retries_made }, ofRow);
  const remaining = deadlineOf(judging.first_attempt_at, row, rules.policy) - judging.now.getTime();
  const due_in = delay <= remaining ? delay : lastAttemptIn(remaining, result, ofRow);
  if (due_in === undefined) return failedBecause('EXPIRED', result.error_type);
  const next_retry_at = isoAfter(judging.now, due_in);
  const limit = max_retries === undefined ? {} : { max_retries };
  return { status: 'RETRY', error_type: result.error_type, next_retry_at, counted, ...limit };
}

/**
 * Milliseconds until the last attempt, where the backoff ends after the deadline: right before the deadline, drawn so that
 * what failed together does not come back together. It is no sooner than the provider asked for, and none fits after it.
 * @param remaining milliseconds until the deadline
 * @returns undefined if the time that remains is too short for one more base interval
 */
export function lastAttemptIn(
  remaining: number,
  { retry_after_ms = 0 }: Pick<Refused, 'retry_after_ms'>,
  { policy: { base_interval_ms }, random }: RetryRules,
): number | undefined {
  const margin = Math.min(LAST_CHANCE_MS, base_interval_ms / 5);
  const soonest = Math.max(base_interval_ms, Math.ceil(retry_after_ms));
  if (remaining < soonest + margin) return undefined;
  const earliest = Math.min(base_interval_ms, remaining - soonest);
  return Math.floor(remaining - (margin + random() * (earliest - margin)));
}

/** Milliseconds for which a receiver's limit is taken to last, where its answer does not say. */
export const LIMIT_MS = 1_000;

/** The integration's terms, without its limit if the row has one of its own. */
function termsOf({ retry = {} }: Refused, { max_retry_count }: NotificationRow): RetryTerms {
  const { max_retries: _, ...others } = retry;
  return max_retry_count === undefined ? retry : others;
}

/** The attempts that a limit of retries leaves: the first send is none of them. */
export function attemptsLeft(max_retries: number, send_attempts: number): number {
  return Math.max(0, max_retries + 1 - send_attempts);
}

/** How long before its deadline the last attempt is due: its lane takes a moment. With short intervals it is less. */
const LAST_CHANCE_MS = 60_000;

/**
 * The attempt is not made now, for what `by` names. It uses up no retry, but the deadline still bounds it: what would be
 * held for longer gets a last chance right before, because that may be over by then. A forced one comes back as such, so
 * within the time for which SQS can delay its message.
 */
export function heldVerdict(
  { until, soonest, error_type, by }: Pick<Held, 'until' | 'soonest' | 'error_type'> & Partial<Pick<Held, 'by'>>,
  judging: Judging,
  policy: RetryPolicy,
): Verdict {
  const deadline = deadlineOf(judging.first_attempt_at, judging.row, policy);
  const retry = (at: number): Verdict => {
    return { status: 'RETRY', error_type, next_retry_at: new Date(at).toISOString(), counted: false };
  };
  // The window of new content begins when the indexer has stored it, so the old deadline does not count.
  if (epochMs(until) <= deadline || (by && 'content' in by)) return retry(epochMs(until));
  if (judging.forced) return retry(Math.min(epochMs(until), judging.now.getTime() + MAX_DELAY_MS));
  const last = Math.max(deadline - LAST_CHANCE_MS, epochMs(soonest ?? until));
  return last <= deadline ? retry(last) : failedBecause('EXPIRED', error_type);
}

/** Milliseconds for which an attempt is held while new content is not stored: the indexer needs seconds. */
export const REPLACED_MS = 60_000;

export function failedBecause(
  failure_reason: ErrorType,
  error_type: ErrorType,
): Extract<Verdict, { status: 'FAILED' }> {
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

/** Draws from [0, 1), like Math.random. */
export type Random = () => number;

/** Doubling stops here: a longer delay exceeds every retention window by far, and a date would overflow. */
const MAX_DOUBLINGS = 20;

export interface RetryRules {
  readonly policy: RetryPolicy;
  readonly random: Random;
}

/**
 * Milliseconds until the next attempt: uniform in [d, 2d), d = base × 2^retries_made × the error type's factor,
 * and never less than the provider asked for. A rate limit uses up no retry, so its wait does not grow from one rate
 * limit to the next.
 * @param failed.retries_made so far: 0 after the first send failed (batch-952-notification-retry.md §5.1)
 */
export function backoffDelay(
  failed: Pick<Refused, 'retry_after_ms'> & { readonly error_type: ErrorType; readonly retries_made: number },
  { policy, random }: RetryRules,
): number {
  const { backoff_factor } = policyOf(failed.error_type);
  const doublings = Math.min(Math.max(failed.retries_made, 0), MAX_DOUBLINGS);
  const shortest = policy.base_interval_ms * 2 ** doublings * backoff_factor;
  const drawn = shortest + Math.floor(random() * shortest);
  return Math.max(drawn, Math.ceil(failed.retry_after_ms ?? 0));
}
