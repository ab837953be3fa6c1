import * as v from 'valibot';
import { PRIORITIES, PRIORITY_POLICY, type Priority, type PriorityPolicy } from '../../core/model/priorities.ts';
import type { RetryPolicy } from '../../core/model/retry-policy.ts';

const HOUR = 3_600_000;
const atLeastZero = v.pipe(v.number(), v.minValue(0));

/** The stack's output RetryPolicy (lib/constructs/function/retry-policy-config.ts), as the domain has it. */
export const retryPolicyOutput = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    base_interval_seconds: atLeastZero,
    max_retries: v.object(v.entriesFromList(PRIORITIES, v.pipe(atLeastZero, v.integer()))),
    retention_hours: v.object(v.entriesFromList(PRIORITIES, atLeastZero)),
  }),
  v.transform(({ base_interval_seconds, max_retries, retention_hours }): RetryPolicy => {
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
  }),
);
