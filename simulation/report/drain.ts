import { idealExpired, type Waiting } from '../audit/ideal-drain.ts';
import { START } from '../engine/start.ts';
import type { World } from '../pipeline/world.ts';

/** What waits when a provider is back, and how many of it expire however well it is drained. */
export interface Held {
  readonly notifications: number;
  readonly ideal_expired: number;
}

/** How the notifications that an outage held were drained. */
export interface Drain extends Held {
  /** Seconds since the start. */
  readonly from: number;
  readonly expired: number;
  /** Seconds until 99 % and until the last of what was delivered was accepted. */
  readonly seconds_99_percent: number;
  readonly seconds: number;
  /** Accepted a second until 99 % were, and its share of what the provider takes. */
  readonly per_second: number;
  readonly share_of_rate: number;
}

export function heldBy({ observer, tables, time }: World, per_second: number): Held {
  const waiting: Waiting[] = [];
  for (let row = 0; row < tables.size; row++) {
    if (observer.isFinished(row)) continue;
    waiting.push({ priority: tables.row(row).priority, since: observer.handedOverAt(row) });
  }
  return { notifications: waiting.length, ideal_expired: idealExpired(waiting, time.now, per_second) };
}

export function drainOf(world: World, held: Held, { from, per_second }: { from: number; per_second: number }): Drain {
  const { observer } = world;
  const after = observer.bySecond.slice(from);
  const total = after.reduce((sum = 0, count = 0) => sum + count, 0);
  let accepted = 0;
  let second = 0;
  for (; second < after.length && accepted < total * 0.99; second++) accepted += after[second] ?? 0;
  const rate = second === 0 ? 0 : accepted / second;
  return {
    from,
    ...held,
    expired: Object.values(observer.expired).reduce((sum, count) => sum + count, 0),
    seconds_99_percent: second,
    seconds: Math.ceil((observer.lastAccepted - START.getTime()) / 1000) - from,
    per_second: rate,
    share_of_rate: rate / per_second,
  };
}
