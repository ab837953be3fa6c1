import type { Channel } from '../model/channels.ts';
import type { Priority } from '../model/priorities.ts';
import type { RunOptions } from '../model/queue-message.ts';

/**
 * The job's parameters (batch-952-notification-retry.md §7; design §8), the same on the command line and in the
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
  /** A lookahead between two sweeps that are more than 15 minutes apart: it only queues ahead (docs/decisions/0064). */
  readonly ahead?: boolean;
}

/** What the run overrides in its messages; undefined when it overrides nothing. */
export function runOptionsOf({ max_retry_count, force_retry }: SweepRequest): RunOptions | undefined {
  if (max_retry_count === undefined && !force_retry) return undefined;
  return {
    ...(max_retry_count !== undefined && { max_retry_count }),
    ...(force_retry && { force: true }),
  };
}
