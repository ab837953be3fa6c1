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
  /**
   * Notifications that a provider gets each second when it is back. Every few seconds they double, until a line has its
   * full rate (slow-start.ts). It is also the least rate of a line.
   */
  readonly drain_per_second: number;
  /** Held notifications per lane that are let go each second where no budget is known; absent: drain_per_second. */
  readonly most_per_second?: number;
}

/**
 * Five notifications also cover an integration with little traffic; four fifths do not hold one with a few bad
 * recipients. SQS can delay a message by the longest interval, so a held notification comes back without a sweep; it is
 * short because a provider that is back and not probed is time in which nothing drains
 * (docs/decisions/delivery/breaker.md#0132).
 */
export const DEFAULT_BREAKER_POLICY = {
  min_samples: 5,
  failure_share: 0.8,
  window_ms: 120_000,
  interval_ms: 30_000,
  max_interval_ms: 120_000,
  drain_per_second: 20,
  most_per_second: 500,
} as const satisfies BreakerPolicy;
