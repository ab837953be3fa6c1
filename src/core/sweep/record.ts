/** What is kept of a sweep for a month, an item of PipelineState with kind `sweep`; one that continued itself is one. */
export interface SweepRecord {
  readonly run_id: string;
  /** ISO-8601 UTC. */
  readonly started_at: string;
  /** Milliseconds of work, of all its invocations together. */
  readonly duration_ms: number;
  readonly due: number;
  readonly dispatched: number;
  readonly skipped: number;
  /** Whether it walked the work index to the end; until then it may be going on. */
  readonly complete: boolean;
}

export interface SweepLog {
  /** Adds the counts of one invocation to its sweep. */
  record(part: SweepRecord): Promise<void>;
}
