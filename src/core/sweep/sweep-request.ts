import type { Channel } from '../model/channels.ts';
import type { Priority } from '../model/priorities.ts';
import type { RunOptions } from '../model/queue-message.ts';

/**
 * The job's parameters (batch-952-notification-retry.md §7), the same on the command line and in the
 * dispatcher's event.
 */
export interface SweepRequest {
  readonly max_retry_count?: number;
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly tenant?: string;
  /** Most notifications to dispatch. */
  readonly limit?: number;
  readonly dry_run?: boolean;
  readonly force_retry?: boolean;
  /**
   * A lookahead between two sweeps that are more than 15 minutes apart: it only queues ahead
   * (docs/decisions/delivery/sweep-and-backlog.md#0064).
   */
  readonly ahead?: boolean;
  /**
   * A run between two sweeps, every so many minutes: it only queues what is urgent or important and became due since
   * the run before (docs/decisions/delivery/sweep-and-backlog.md#0084).
   */
  readonly express_minutes?: number;
}

/** A run between two sweeps, which is none itself: it leaves no record, and repairs nothing that a sweep repairs. */
export function isBetweenSweeps({ ahead, express_minutes }: SweepRequest): boolean {
  return ahead === true || express_minutes !== undefined;
}

/** What the run overrides in its messages; undefined when it overrides nothing. */
export function runOptionsOf({ max_retry_count, force_retry }: SweepRequest): RunOptions | undefined {
  if (max_retry_count === undefined && !force_retry) return undefined;
  return {
    ...(max_retry_count !== undefined && { max_retry_count }),
    ...(force_retry && { force: true }),
  };
}
