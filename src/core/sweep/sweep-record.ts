/**
 * A sweep, kept for a month as an item of PipelineState with kind `sweep`. All invocations of a sweep make one item.
 */
export interface SweepRecord {
  readonly run_id: string;
  /** ISO-8601 UTC. */
  readonly started_at: string;
  /** Milliseconds of work in all invocations together. */
  readonly duration_ms: number;
  readonly due: number;
  readonly dispatched: number;
  readonly skipped: number;
  /** Whether the sweep has walked the work index to the end; while false, it may still be under way. */
  readonly complete: boolean;
}

export interface SweepLog {
  /** Adds the counts of one invocation to its sweep. */
  record(part: SweepRecord): Promise<void>;
}
