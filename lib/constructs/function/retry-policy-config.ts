import type { RetryPolicyConfig } from '../../../functions/shared/runtime/env.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** The stage's limits and intervals: the variable RETRY_POLICY of the functions, and the stack's output RetryPolicy. */
export function retryPolicyJson(config: StageConfig): string {
  return JSON.stringify({
    base_interval_seconds: config.baseIntervalSeconds,
    max_retries: config.maxRetries,
    retention_hours: config.retentionHours,
  } satisfies RetryPolicyConfig);
}
