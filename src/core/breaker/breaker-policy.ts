/** When a provider counts as down, and how it is tried again. */
export interface BreakerPolicy {
  /** Fewest notifications of one worker, within the window, that can open the breaker; 1 or more. */
  readonly min_samples: number;
  /** Share of these that failed with an outage error, from which the breaker opens: above 0, at most 1. */
  readonly failure_share: number;
  readonly window_ms: number;
  /** From opening to the first probe; each failed probe doubles it, up to `max_interval_ms`. */
  readonly interval_ms: number;
  readonly max_interval_ms: number;
  /** Held notifications per lane that are let go each second, once the provider is back. */
  readonly drain_per_second: number;
}

/**
 * Five notifications also cover an integration with little traffic; four fifths do not hold one with a few bad
 * recipients. SQS can delay a message by the longest interval, so a held notification comes back without a sweep.
 */
export const DEFAULT_BREAKER_POLICY: BreakerPolicy = {
  min_samples: 5,
  failure_share: 0.8,
  window_ms: 120_000,
  interval_ms: 30_000,
  max_interval_ms: 600_000,
  drain_per_second: 20,
};
