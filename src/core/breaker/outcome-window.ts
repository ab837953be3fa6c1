/** Buckets a window: it slides in steps of a sixth. */
const BUCKETS = 6;

interface Bucket {
  readonly until: number;
  readonly failed: Set<string>;
  passed: number;
}

/** What a worker has seen of one provider lately. */
export class OutcomeWindow {
  readonly #window_ms: number;
  #buckets: Bucket[] = [];

  constructor(window_ms: number) {
    this.#window_ms = window_ms;
  }

  /** Failures count once a notification, for what fails again and again by itself is no sign of an outage. */
  add(log_id: string, failed: boolean, now: number): void {
    this.#forget(now);
    const newest = this.#buckets.at(-1);
    const bucket = newest !== undefined && newest.until > now ? newest : this.#begin(now);
    if (failed) bucket.failed.add(log_id);
    else bucket.passed += 1;
  }

  /** @returns how many different notifications failed, and the share of failures, 0…1. */
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
