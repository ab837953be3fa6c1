import type { BreakerPolicy } from '../../../src/core/breaker/breaker-policy.ts';
import { PRIORITIES, PRIORITY_POLICY } from '../../../src/core/model/priorities.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import type { BreakerConfig, RetryPolicyConfig } from './env.ts';

export function toRetryPolicy(config: RetryPolicyConfig): RetryPolicy {
  const priorities = PRIORITIES.map((priority) => [
    priority,
    {
      max_retries: config.max_retries[priority],
      retention_ms: config.retention_hours[priority] * 3_600_000,
      lane: PRIORITY_POLICY[priority].lane,
    },
  ]);
  return { base_interval_ms: config.base_interval_seconds * 1000, priorities: Object.fromEntries(priorities) };
}

export function toBreakerPolicy({
  window_seconds,
  interval_seconds,
  max_interval_seconds,
  ...config
}: BreakerConfig): BreakerPolicy {
  return {
    ...config,
    window_ms: window_seconds * 1000,
    interval_ms: interval_seconds * 1000,
    max_interval_ms: max_interval_seconds * 1000,
  };
}
