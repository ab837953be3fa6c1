import { PRIORITIES, type Priority } from '../../src/core/model/channels.ts';

/** What is counted at one moment. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  /** Handed over and not finished, by priority. */
  readonly open: Readonly<Record<Priority, number>>;
  /** Accepted by receivers so far. */
  readonly accepted: number;
}

/** The notifications that waits are counted for together. */
export interface Cohort {
  readonly group: string;
  readonly priority: Priority;
}

/** What the receivers saw of a notification, and when it was handed over. */
interface Seen {
  readonly at: number;
  sent: boolean;
  delivered: boolean;
  finished: boolean;
}

const perPriority = <T>(of: () => T) =>
  Object.fromEntries(PRIORITIES.map((priority) => [priority, of()])) as Record<Priority, T>;

/** Counts what the receivers saw, and when. */
export class Observer {
  readonly #start: number;
  readonly #cohort: (row: number) => Cohort;
  readonly #seen: Seen[] = [];
  readonly first = new Map<string, Histogram>();
  readonly delivered = new Map<string, Histogram>();
  /** From the time of a retry to its request. */
  readonly late = new Histogram();
  readonly open = perPriority(() => 0);
  readonly expired = perPriority(() => 0);
  readonly samples: Sample[] = [];
  readonly ends: Record<string, number> = {};
  accepted = 0;
  requests = 0;
  finished = 0;
  lastAccepted = 0;
  /** Acceptances by second since the start. */
  readonly bySecond: number[] = [];

  constructor(start: number, cohort: (row: number) => Cohort) {
    this.#start = start;
    this.#cohort = cohort;
  }

  handedOver(row: number, now: number): void {
    this.#seen[row] = { at: now, sent: false, delivered: false, finished: false };
    this.open[this.#cohort(row).priority] += 1;
  }

  handedOverAt(row: number): number {
    return this.#of(row).at;
  }

  isFinished(row: number): boolean {
    return this.#of(row).finished;
  }

  /** @param due when it had to be sent */
  requested(row: number, now: number, due: number): void {
    this.requests += 1;
    const seen = this.#of(row);
    if (due > seen.at) this.late.add(now - due);
    if (!seen.sent) this.#add(this.first, row, now);
    seen.sent = true;
  }

  acceptedBy(row: number, now: number): void {
    this.accepted += 1;
    this.lastAccepted = now;
    const second = Math.floor((now - this.#start) / 1000);
    this.bySecond[second] = (this.bySecond[second] ?? 0) + 1;
    const seen = this.#of(row);
    if (!seen.delivered) this.#add(this.delivered, row, now);
    seen.delivered = true;
  }

  changed(row: number, status: string, failure_reason: string | undefined): void {
    const ended = status === 'SUCCESS' || (status === 'FAILED' && failure_reason !== undefined);
    const { priority } = this.#cohort(row);
    const seen = this.#of(row);
    if (seen.finished === ended) return;
    seen.finished = ended;
    this.finished += ended ? 1 : -1;
    this.open[priority] -= ended ? 1 : -1;
    // An operator sends it again.
    const end = ended ? (failure_reason ?? 'DELIVERED') : 'REDRIVEN';
    this.ends[end] = (this.ends[end] ?? 0) + 1;
    if (ended && failure_reason === 'EXPIRED') this.expired[priority] += 1;
  }

  sample(now: number): void {
    this.samples.push({ at: (now - this.#start) / 1000, open: { ...this.open }, accepted: this.accepted });
  }

  #of(row: number): Seen {
    return this.#seen[row] as Seen;
  }

  #add(waits: Map<string, Histogram>, row: number, now: number): void {
    const { group, priority } = this.#cohort(row);
    const name = `${group} ${priority}`;
    const histogram = waits.get(name) ?? new Histogram();
    waits.set(name, histogram);
    histogram.add(now - this.#of(row).at);
  }
}

/** Each bin is wider than the one before by this factor: values are right to 2 %. */
const GROWTH = Math.log(1.02);
const SMALLEST = 1;

/** Counts of values above 0 in bins that grow, for percentiles without keeping the values. */
export class Histogram {
  #bins: number[] = [];
  count = 0;
  max = 0;

  add(value: number): void {
    const bin = value <= SMALLEST ? 0 : Math.ceil(Math.log(value / SMALLEST) / GROWTH);
    this.#bins[bin] = (this.#bins[bin] ?? 0) + 1;
    this.count += 1;
    if (value > this.max) this.max = value;
  }

  /** The value that the share of all values, 0…1, does not exceed; 0 without values. */
  percentile(share: number): number {
    let left = Math.ceil(share * this.count);
    for (let bin = 0; bin < this.#bins.length; bin++) {
      left -= this.#bins[bin] ?? 0;
      if (left <= 0 && this.count > 0) return Math.min(this.max, SMALLEST * Math.exp(bin * GROWTH));
    }
    return this.max;
  }
}
