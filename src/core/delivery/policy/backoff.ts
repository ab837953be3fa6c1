import { type ErrorType, policyOf } from '../../model/error-types.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';

/** Draws from [0, 1), like Math.random. */
export type Random = () => number;

/** Doubling stops here: a longer delay exceeds every retention window by far, and a date would overflow. */
const MAX_DOUBLINGS = 20;

/** The retry policy, and the draws that spread its delays. */
export interface RetryRules {
  readonly policy: RetryPolicy;
  readonly random: Random;
}

export interface BackoffInput {
  readonly error_type: ErrorType;
  /** Retries made so far: 0 after the first send failed (batch-952-notification-retry.md §5.1). */
  readonly retries_made: number;
  /** The wait that the provider asked for, in milliseconds; a lower bound. */
  readonly retry_after_ms?: number;
}

/**
 * Milliseconds until the next attempt: uniform in [d, 2d), d = base × 2^retries_made × the error type's factor,
 * and never less than the provider asked for. A rate limit uses up no retry, so its wait does not grow from one rate
 * limit to the next.
 */
export function backoffDelay(input: BackoffInput, { policy, random }: RetryRules): number {
  const { backoff_factor } = policyOf(input.error_type);
  const doublings = Math.min(Math.max(input.retries_made, 0), MAX_DOUBLINGS);
  const shortest = policy.base_interval_ms * 2 ** doublings * backoff_factor;
  const drawn = shortest + Math.floor(random() * shortest);
  return Math.max(drawn, Math.ceil(input.retry_after_ms ?? 0));
}
