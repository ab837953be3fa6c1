import { createHistogram } from 'node:perf_hooks';
import { PRIORITIES, type Priority } from '../../../src/core/model/channels.ts';

/** What is counted at one moment. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  /** Handed over and not finished, by priority. */
  readonly counts: Readonly<Record<Priority, number>>;
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
  end: string | undefined;
}

const perPriority = <T>(of: () => T) =>
  Object.fromEntries(PRIORITIES.map((priority) => [priority, of()])) as Record<Priority, T>;

export type Waits = ReturnType<typeof histogram>;

/** Counts what the receivers saw, and when. */
export class Observer {
  readonly #start: number;
  readonly #cohort: (row: number) => Cohort;
  readonly #seen: Seen[] = [];
  readonly first = new Map<string, Waits>();
  readonly delivered = new Map<string, Waits>();
  /** From the time of a retry to its request. */
  readonly late = histogram();
  readonly open = perPriority(() => 0);
  readonly expired = perPriority(() => 0);
  readonly samples: Sample[] = [];
  readonly ends: Record<string, number> = {};
  requests = 0;
  finished = 0;
  lastAccepted = 0;

  constructor(start: number, cohort: (row: number) => Cohort) {
    this.#start = start;
    this.#cohort = cohort;
  }

  handedOver(row: number, now: number): void {
    this.#seen[row] = { at: now, sent: false, delivered: false, end: undefined };
    this.open[this.#cohort(row).priority] += 1;
  }

  handedOverAt(row: number): number {
    return this.#of(row).at;
  }

  isFinished(row: number): boolean {
    return this.#of(row).end !== undefined;
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
    this.lastAccepted = now;
    const seen = this.#of(row);
    if (!seen.delivered) this.#add(this.delivered, row, now);
    seen.delivered = true;
  }

  changed(row: number, status: string, failure_reason: string | undefined): void {
    const end = status === 'SUCCESS' ? 'DELIVERED' : status === 'FAILED' ? failure_reason : undefined;
    const seen = this.#of(row);
    if (seen.end === end) return;
    const { priority } = this.#cohort(row);
    const more = Number(end !== undefined) - Number(seen.end !== undefined);
    this.finished += more;
    this.open[priority] -= more;
    // What is redriven ends otherwise: it counts once, by its last end.
    if (seen.end !== undefined) this.ends[seen.end] = (this.ends[seen.end] ?? 0) - 1;
    if (end !== undefined) this.ends[end] = (this.ends[end] ?? 0) + 1;
    if (end === 'EXPIRED') this.expired[priority] += 1;
    seen.end = end;
  }

  sample(now: number): void {
    this.samples.push({ at: (now - this.#start) / 1000, counts: { ...this.open } });
  }

  #of(row: number): Seen {
    return this.#seen[row] as Seen;
  }

  #add(waits: Map<string, Waits>, row: number, now: number): void {
    const { group, priority } = this.#cohort(row);
    const name = `${group} ${priority}`;
    const times = waits.get(name) ?? histogram();
    waits.set(name, times);
    times.add(now - this.#of(row).at);
  }
}

/** Milliseconds, right to a tenth of a percent; what comes at once counts as one. */
function histogram() {
  const values = createHistogram();
  return {
    add: (ms: number) => values.record(Math.max(1, Math.round(ms))),
    get count() {
      return values.count;
    },
    /** That the share of all, 0…1, does not exceed; 0 without values. */
    percentile: (share: number) => (values.count === 0 ? 0 : Math.min(values.max, values.percentile(share * 100))),
  };
}
