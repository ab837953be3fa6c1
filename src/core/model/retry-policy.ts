import type { Lane, Priority } from './channels.ts';
import { type Configured, type NamedSettings, standardsOf } from './setting.ts';

const HOUR = 3_600_000;

interface PriorityPolicy {
  /** Retries after the first send; the first send itself does not count. */
  readonly max_retries: number;
  /** Milliseconds from the first attempt in which a retry may still be made. */
  readonly retention_ms: number;
  readonly lane: Lane;
}

/** The configurable part of the retry policy; the rest is fixed. */
export interface RetryPolicy {
  /** The unit of backoff in milliseconds: the first retry comes after one to two units. */
  readonly base_interval_ms: number;
  readonly priorities: Readonly<Record<Priority, PriorityPolicy>>;
}

/** batch-952-notification-retry.md §5: base interval of five minutes, limits and retention of §5.2. */
export const RETRY_SETTINGS = {
  /** The unit of backoff in seconds. @ja バックオフの基本間隔（秒） */
  baseIntervalSeconds: { name: 'base_interval_seconds', from: 1, to: 86_400, unit: 'seconds', standard: 300 },
  /** Retries after the first send. @ja 初回送信後のリトライ回数 */
  maxRetries: {
    name: 'max_retries',
    from: 0,
    to: 100,
    unit: 'retries',
    whole: true,
    standard: { urgent: 10, important: 7, normal: 5, info: 3 },
  },
  /** Hours from the first attempt in which a retry may be made. @ja 最初の試行からリトライできる時間 */
  retentionHours: {
    name: 'retention_hours',
    from: 0.1,
    to: 336,
    unit: 'hours',
    standard: { urgent: 24, important: 12, normal: 6, info: 3 },
    orZero: true,
  },
} as const satisfies NamedSettings;

export type RetryPolicyConfig = Configured<typeof RETRY_SETTINGS>;

const LANE_OF: Readonly<Record<Priority, Lane>> = {
  urgent: 'express',
  important: 'express',
  normal: 'standard',
  info: 'standard',
};

export const PRIORITY_POLICY = prioritiesOf(/* @__PURE__ */ standardsOf(RETRY_SETTINGS));
export const DEFAULT_RETRY_POLICY = retryPolicyOf(/* @__PURE__ */ standardsOf(RETRY_SETTINGS));

/** The policy in the domain's units. */
/* @__NO_SIDE_EFFECTS__ */
export function retryPolicyOf(config: RetryPolicyConfig): RetryPolicy {
  return { base_interval_ms: config.base_interval_seconds * 1000, priorities: prioritiesOf(config) };
}

/* @__NO_SIDE_EFFECTS__ */
function prioritiesOf({ max_retries, retention_hours }: RetryPolicyConfig): RetryPolicy['priorities'] {
  const policyOf = (priority: Priority): PriorityPolicy => ({
    max_retries: max_retries[priority],
    retention_ms: retention_hours[priority] * HOUR,
    lane: LANE_OF[priority],
  });
  return {
    urgent: policyOf('urgent'),
    important: policyOf('important'),
    normal: policyOf('normal'),
    info: policyOf('info'),
  };
}
