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
  /** Whether the sweep took everything that was due: one by the job's options may be limited to a part. */
  readonly everything?: boolean;
}

/** What a sweep needs to know of the sweeps before it. */
export interface SweepHistory {
  /** When the last sweep began that walked the whole work index to its end, ISO-8601 UTC; undefined when none is known. */
  lastCompleted(): Promise<string | undefined>;
  /** When the last express run began that sent all it found; undefined when none is known. */
  lastExpress(): Promise<string | undefined>;
  /** The same of the looks ahead. */
  lastAhead(): Promise<string | undefined>;
}

export interface SweepLog extends SweepHistory {
  /** Adds the counts of one invocation to its sweep. */
  record(part: SweepRecord): Promise<void>;
  recordExpress(started_at: string): Promise<void>;
  recordAhead(started_at: string): Promise<void>;
}
