import type { Lane } from './channels.ts';

const HOUR = 3_600_000;

/** Highest first: the sweep walks them in this order. */
export const PRIORITIES = ['urgent', 'important', 'normal', 'info'] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface PriorityPolicy {
  /** Retries after the first send; the first send itself does not count. */
  readonly max_retries: number;
  /** Milliseconds from the first attempt in which a retry may still be made. */
  readonly retention_ms: number;
  readonly lane: Lane;
}

/** Limits and retention per priority: batch-952-notification-retry.md §5.2. */
export const PRIORITY_POLICY: Readonly<Record<Priority, PriorityPolicy>> = {
  urgent: { max_retries: 10, retention_ms: 24 * HOUR, lane: 'express' },
  important: { max_retries: 7, retention_ms: 12 * HOUR, lane: 'express' },
  normal: { max_retries: 5, retention_ms: 6 * HOUR, lane: 'standard' },
  info: { max_retries: 3, retention_ms: 3 * HOUR, lane: 'standard' },
};

/** The priority of the table's `priority_level`, for rows without `priority` (design §2). */
export const PRIORITY_OF_LEVEL = { HIGH: 'important', MEDIUM: 'normal', LOW: 'info' } as const;
export type PriorityLevel = keyof typeof PRIORITY_OF_LEVEL;
