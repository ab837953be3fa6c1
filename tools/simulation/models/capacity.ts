/** DynamoDB refused a call because its partition takes no more. */
export class ThrottledError extends Error {
  override readonly name = 'ThrottlingException';
}

/** Longest time in which the client's own retries get a throttled call through, in milliseconds. */
const RETRIED_FOR_MS = 1_000;

/**
 * The units per second that a partition takes. A call above them waits, as the client repeats it; one
 * that would wait too long fails.
 */
export class Capacity {
  readonly #per_second: number;
  /** Epoch milliseconds until which the capacity is used. */
  #usedUntil = 0;
  throttled = 0;

  constructor(per_second: number) {
    this.#per_second = per_second;
  }

  /** @returns the milliseconds that the call waits. @throws ThrottledError */
  take(units: number, now: number): number {
    const from = Math.max(this.#usedUntil, now - RETRIED_FOR_MS);
    const until = from + (units * 1000) / this.#per_second;
    if (until > now + RETRIED_FOR_MS) {
      this.throttled += 1;
      throw new ThrottledError('The partition takes no more now.');
    }
    this.#usedUntil = until;
    return Math.max(0, until - now);
  }
}

/** What the items of a table that all workers share take: in all, and the most that one of them took within a second. */
export class SharedItems {
  /** By item, in the second of its last write. */
  readonly #items = new Map<string, { second: number; units: number }>();
  units = 0;
  hottest = { item: '', per_second: 0 };

  written(item: string, now: number): void {
    this.units += 1;
    const second = Math.floor(now / 1000);
    const before = this.#items.get(item);
    const units = before?.second === second ? before.units + 1 : 1;
    this.#items.set(item, { second, units });
    if (units > this.hottest.per_second) this.hottest = { item, per_second: units };
  }
}
