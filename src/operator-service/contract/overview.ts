import type { Channel } from '../../core/model/channels.ts';
import type { ErrorType } from '../../core/model/error-types.ts';
import type { BreakerStatus } from '../../core/operator/views/breaker-status.ts';
import type { Series } from '../../core/operator/views/outcome-series.ts';
import type { BudgetStatus } from '../../core/pacing/budget-status.ts';

/** A channel's figures, over both lanes. */
export interface ChannelFigures {
  readonly channel: Channel;
  /** Notifications whose time has come, including those that are queued or being attempted. */
  readonly due: number;
  readonly waiting: number;
  /** Messages that a channel function has received: an approximate count by SQS. */
  readonly in_flight: number;
  readonly dead: number;
  readonly oldest_due_at: string | null;
  /** The figures but in_flight are estimated from a part of a large index, to two digits. */
  readonly estimated: boolean;
}

/** Dead notifications with the same cause. */
export interface CauseFigures {
  readonly channel: Channel;
  /** Why they were given up. */
  readonly failure_reason: ErrorType;
  /** The last error before that. */
  readonly error_type: ErrorType | null;
  readonly count: number;
  readonly remedy: string;
}

/** `GET /api/overview`. */
export interface Overview {
  readonly channels: readonly ChannelFigures[];
  readonly causes: readonly CauseFigures[];
  /** Whether the causes cover every dead notification; else only the newest ones were read. */
  readonly causes_complete: boolean;
  readonly breakers: readonly BreakerStatus[];
  readonly budgets: readonly BudgetStatus[];
  readonly sweeps: readonly {
    readonly run_id: string;
    readonly started_at: string;
    readonly due: number;
    readonly dispatched: number;
    readonly skipped: number;
    readonly complete: boolean;
  }[];
  readonly series: readonly Series[];
  /** Why the series of what was delivered are missing; absent: they are there. */
  readonly series_problem?: { readonly detail: string; readonly remedy: string };
}
