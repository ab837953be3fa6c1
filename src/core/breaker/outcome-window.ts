/** Buckets per window: it slides in steps of a sixth. */
const BUCKETS = 6;

interface Bucket {
  readonly until: number;
  readonly failed: Set<string>;
  passed: number;
}

/** The outcomes that one worker has seen of one provider within the window. */
export class OutcomeWindow {
  readonly #window_ms: number;
  #buckets: Bucket[] = [];

  constructor(window_ms: number) {
    this.#window_ms = window_ms;
  }

  /** Failures count once per notification: one that fails again and again is no sign of an outage. */
  add(log_id: string, failed: boolean, now: number): void {
    this.#forget(now);
    const newest = this.#buckets.at(-1);
    const bucket = newest !== undefined && newest.until > now ? newest : this.#begin(now);
    if (failed) bucket.failed.add(log_id);
    else bucket.passed += 1;
  }

  /**
   * @returns `samples`: the notifications that failed plus the attempts that passed; `failure_share`: the share of the
   * former, 0…1.
   */
  totals(now: number): { samples: number; failure_share: number } {
    this.#forget(now);
    const failed = new Set(this.#buckets.flatMap((bucket) => [...bucket.failed])).size;
    const samples = failed + this.#buckets.reduce((sum, { passed }) => sum + passed, 0);
    return { samples, failure_share: samples === 0 ? 0 : failed / samples };
  }

  #begin(now: number): Bucket {
    const bucket = { until: now + this.#window_ms / BUCKETS, failed: new Set<string>(), passed: 0 };
    this.#buckets.push(bucket);
    return bucket;
  }

  #forget(now: number): void {
    this.#buckets = this.#buckets.filter(({ until }) => until > now - this.#window_ms);
  }
}
