import type { BreakerConfig } from '../../../functions/shared/runtime/env.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** The stage's breaker settings as the variable BREAKER of the channel functions. */
export function breakerJson({ breaker }: StageConfig): string {
  return JSON.stringify({
    min_samples: breaker.minSamples,
    failure_share: breaker.failureShare,
    window_seconds: breaker.windowSeconds,
    interval_seconds: breaker.intervalSeconds,
    max_interval_seconds: breaker.maxIntervalSeconds,
    drain_per_second: breaker.drainPerSecond,
  } satisfies BreakerConfig);
}
