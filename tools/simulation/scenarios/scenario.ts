import type { Channel, Lane, Priority } from '../../../src/core/model/channels.ts';
import type { ProviderOptions } from '../models/provider.ts';

/** Notifications that arrive evenly over a time. */
export interface Arrivals {
  /** The name under which their waits are reported. */
  readonly group: string;
  readonly tenants: readonly string[];
  readonly channel: Channel;
  /** Parts of the whole by priority. */
  readonly priorities: Readonly<Partial<Record<Priority, number>>>;
  /** A receiver of each notification is drawn from this many integrations per tenant; e-mail has one account. */
  readonly receivers?: number;
  readonly count: number;
  /** Seconds since the start. */
  readonly from: number;
  readonly until: number;
  /** `api`: queued at once; `table`: a row of another program, which a sweep finds. */
  readonly by: 'api' | 'table';
}

interface SendingLimits {
  /** What GetAccount says. */
  readonly per_second: number;
  readonly per_day?: number;
}

/** What happens in a simulation. */
export interface Scenario {
  readonly name: string;
  readonly describes: string;
  readonly notifications: number;
  readonly arrivals: readonly Arrivals[];
  /** By channel; `seconds` in outages count from the start. */
  readonly providers: Readonly<Partial<Record<Channel, ProviderOptions>>>;
  /** Each receiver has the limits of its channel's provider for itself. */
  readonly perReceiver?: readonly Channel[];
  readonly account?: SendingLimits;
  readonly concurrency?: Partial<Record<Channel, Partial<Record<Lane, number>>>>;
  /** Milliseconds by which the clocks of instances are wrong: each new one has the next of these. */
  readonly clocks?: readonly number[];
  /** Milliseconds by which the dispatcher's schedules are late at most. */
  readonly late_ms?: number;
  /** Share of the invocations whose process dies. */
  readonly deaths?: number;
  /** Times at which an operator redrives all dead letters, seconds since the start. */
  readonly redrives?: readonly number[];
  /** Times in which tables and queues refuse every call, in seconds since the start. */
  readonly blackouts?: readonly { readonly from: number; readonly until: number }[];
  /** Partitions per state and priority of the work index. Set: the intake's writes use up their capacity, too. */
  readonly indexShards?: number;
  /** Milliseconds per batch besides its calls: CPU at the function's share of a core, outcomes that wait for one another. */
  readonly batch_ms?: number;
  /** Seconds since the start at which a drain begins, and what could be taken then. */
  readonly drains?: { readonly from: number; readonly per_second: number };
  /** Seconds since the start in which all receivers have more to take than they take, and what they take together. */
  readonly saturated?: { readonly from: number; readonly until: number; readonly per_second: number };
}

export interface Titled {
  readonly name: string;
  readonly describes: string;
  /** Notifications, or members of a newsletter, unless the command line says otherwise. */
  readonly notifications: number;
}

export type Happening = Omit<Scenario, keyof Titled>;

export interface NamedPipeline extends Titled {
  readonly make: (notifications: number) => Happening;
}

/** Seconds. */
export const HOUR = 3_600;

/** `first-1` … */
export function tenants(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
}
