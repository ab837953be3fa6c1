import * as v from 'valibot';
import { type BreakerPolicy, DEFAULT_BREAKER_POLICY } from '../../core/breaker/breaker-policy.ts';

const positive = v.pipe(v.number(), v.gtValue(0));

const breakerConfig = v.object({
  min_samples: v.pipe(v.number(), v.integer(), v.minValue(1)),
  failure_share: v.pipe(positive, v.maxValue(1)),
  window_seconds: positive,
  interval_seconds: positive,
  max_interval_seconds: positive,
  drain_per_second: positive,
  most_per_second: v.exactOptional(positive),
});
export type BreakerConfig = v.InferOutput<typeof breakerConfig>;

/**
 * The stage's breaker policy as JSON: the functions' variable BREAKER, written by
 * lib/constructs/lanes/breaker-config.ts.
 */
export const breakerPolicyFromJson = v.pipe(v.string(), v.parseJson(), breakerConfig, v.transform(toBreakerPolicy));

export function toBreakerPolicy({
  window_seconds,
  interval_seconds,
  max_interval_seconds,
  ...config
}: BreakerConfig): BreakerPolicy {
  const { drain_per_second, most_per_second = DEFAULT_BREAKER_POLICY.most_per_second } = config;
  return {
    ...config,
    most_per_second: Math.max(drain_per_second, most_per_second),
    window_ms: window_seconds * 1000,
    interval_ms: interval_seconds * 1000,
    max_interval_ms: max_interval_seconds * 1000,
  };
}
