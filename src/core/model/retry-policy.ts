import type { Lane } from './channels.ts';
import type { Priority } from './priorities.ts';

const HOUR = 3_600_000;

export interface PriorityPolicy {
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

/** Limits and retention per priority: batch-952-notification-retry.md §5.2. */
export const PRIORITY_POLICY: Readonly<Record<Priority, PriorityPolicy>> = {
  urgent: { max_retries: 10, retention_ms: 24 * HOUR, lane: 'express' },
  important: { max_retries: 7, retention_ms: 12 * HOUR, lane: 'express' },
  normal: { max_retries: 5, retention_ms: 6 * HOUR, lane: 'standard' },
  info: { max_retries: 3, retention_ms: 3 * HOUR, lane: 'standard' },
};

/** batch-952-notification-retry.md §5: base interval of five minutes, limits of §5.2. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  base_interval_ms: 5 * 60_000,
  priorities: PRIORITY_POLICY,
};
