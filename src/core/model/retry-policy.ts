import { PRIORITY_POLICY, type Priority, type PriorityPolicy } from './priorities.ts';

/** The configurable part of the retry policy; the rest of design §5 is fixed. */
export interface RetryPolicy {
  /** The unit of backoff in milliseconds: the first retry comes after one to two units. */
  readonly base_interval_ms: number;
  readonly priorities: Readonly<Record<Priority, PriorityPolicy>>;
}

/** batch-952-notification-retry.md §5: base interval of five minutes, limits of §5.2. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  base_interval_ms: 5 * 60_000,
  priorities: PRIORITY_POLICY,
};
