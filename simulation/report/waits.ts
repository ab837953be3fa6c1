import type { Observer } from '../pipeline/observer.ts';

/** Waits of the notifications of one group and priority, in seconds since they were handed over. */
export interface Waits {
  readonly group: string;
  readonly priority: string;
  readonly sent: number;
  /** Until the first request. */
  readonly first_p50: number;
  readonly first_p99: number;
  readonly first_max: number;
  /** Until a receiver accepted. */
  readonly delivered: number;
  readonly delivered_p50: number;
  readonly delivered_p99: number;
  readonly delivered_max: number;
}

export function waitsOf(observer: Observer): Waits[] {
  return [...observer.first].map(([name, first]) => {
    const [group = '', priority = ''] = name.split(' ');
    const delivered = observer.delivered.get(name);
    return {
      group,
      priority,
      sent: first.count,
      first_p50: seconds(first.percentile(0.5)),
      first_p99: seconds(first.percentile(0.99)),
      first_max: seconds(first.max),
      delivered: delivered?.count ?? 0,
      delivered_p50: seconds(delivered?.percentile(0.5)),
      delivered_p99: seconds(delivered?.percentile(0.99)),
      delivered_max: seconds(delivered?.max),
    };
  });
}

const seconds = (ms = 0) => Math.round(ms) / 1000;
