import { PRIORITIES } from '../../src/core/model/priorities.ts';
import { PRIORITY_POLICY } from '../../src/core/model/retry-policy.ts';
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

/** An ideal drain: urgent first, oldest first, without a pause. */
export function heldBy(world: World, per_second: number): Held {
  const { observer, tables, time } = world;
  const open = PRIORITIES.map(() => [] as number[]);
  for (let row = 0; row < tables.size; row++) {
    if (observer.isFinished(row)) continue;
    const { priority } = tables.columns.routingOf(row);
    open[PRIORITIES.indexOf(priority)]?.push(observer.handedOverAt(row) + PRIORITY_POLICY[priority].retention_ms);
  }
  let sent = 0;
  let ideal_expired = 0;
  for (const deadlines of open) {
    for (const deadline of deadlines) {
      if (time.now + (sent / per_second) * 1000 > deadline) ideal_expired += 1;
      else sent += 1;
    }
  }
  return { notifications: open.reduce((sum, { length }) => sum + length, 0), ideal_expired };
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
