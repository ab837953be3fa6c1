import * as v from 'valibot';
import { PRIORITIES, type Priority } from '../../core/model/priorities.ts';
import { PRIORITY_POLICY, type PriorityPolicy, type RetryPolicy } from '../../core/model/retry-policy.ts';

const HOUR = 3_600_000;

const perPriority = <T extends v.GenericSchema>(schema: T) => v.object(v.entriesFromList(PRIORITIES, schema));
const atLeastZero = v.pipe(v.number(), v.minValue(0));

const retryPolicyConfig = v.object({
  /** Above 0: without it, failed attempts would be retried at once. */
  base_interval_seconds: v.pipe(v.number(), v.minValue(0.001)),
  max_retries: perPriority(v.pipe(atLeastZero, v.integer())),
  retention_hours: perPriority(atLeastZero),
});
export type RetryPolicyConfig = v.InferOutput<typeof retryPolicyConfig>;

/**
 * The stage's retry policy as JSON: the functions' variable RETRY_POLICY and the stack's output
 * RetryPolicy, both written by lib/constructs/function/retry-policy-config.ts.
 */
export const retryPolicyFromJson = v.pipe(v.string(), v.parseJson(), retryPolicyConfig, v.transform(toRetryPolicy));

function toRetryPolicy({ base_interval_seconds, max_retries, retention_hours }: RetryPolicyConfig): RetryPolicy {
  const policyOf = (priority: Priority): PriorityPolicy => ({
    max_retries: max_retries[priority],
    retention_ms: retention_hours[priority] * HOUR,
    lane: PRIORITY_POLICY[priority].lane,
  });
  return {
    base_interval_ms: base_interval_seconds * 1000,
    priorities: {
      urgent: policyOf('urgent'),
      important: policyOf('important'),
      normal: policyOf('normal'),
      info: policyOf('info'),
    },
  };
}
