/** When a provider counts as down, and how one that was is approached again. */
export interface BreakerPolicy {
  /** Least notifications within the window, of one worker, that a judgement needs; 1 or more. */
  readonly min_samples: number;
  /** Share of them that failed as when a provider is down, from which the breaker opens: above 0, at most 1. */
  readonly failure_share: number;
  readonly window_ms: number;
  /** From opening to the first probe; doubled by every probe that fails, up to the longest. */
  readonly interval_ms: number;
  readonly max_interval_ms: number;
  /** Held notifications a lane that are let go each second, once the provider is back. */
  readonly drain_per_second: number;
}

/**
 * Five notifications, so that an integration of little traffic is covered, too; four fifths, so that one with a few bad
 * recipients is not held. The longest interval is within what SQS can delay a message by, so that what is held comes
 * back by itself and need not wait for a sweep.
 */
export const DEFAULT_BREAKER_POLICY: BreakerPolicy = {
  min_samples: 5,
  failure_share: 0.8,
  window_ms: 120_000,
  interval_ms: 30_000,
  max_interval_ms: 600_000,
  drain_per_second: 20,
};
