import { WINDOW_HOURS } from '../audit/end-promises.ts';
import { START } from '../engine/virtual-time.ts';
import type { World } from '../pipeline/world.ts';

/** A notification that waits when a provider is back. */
interface Waiting {
  readonly priority: string;
  /** Epoch milliseconds at which it was handed over, which is before its first attempt. */
  readonly since: number;
}

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

export function heldIn({ observer, tables, time }: World, per_second: number): Held {
  const waiting: Waiting[] = [];
  for (let row = 0; row < tables.size; row++) {
    if (observer.isFinished(row)) continue;
    waiting.push({ priority: tables.row(row).priority, since: observer.handedOverAt(row) });
  }
  return { notifications: waiting.length, ideal_expired: idealExpired(waiting, time.now, per_second) };
}

export function drainOf(world: World, held: Held, { from, per_second }: { from: number; per_second: number }): Drain {
  const { observer } = world;
  const { seconds, per_second: rate } = rateUntil(0.99, world.bySecond.slice(from));
  return {
    from,
    ...held,
    expired: Object.values(observer.expired).reduce((sum, count) => sum + count, 0),
    seconds_99_percent: seconds,
    seconds: Math.ceil((observer.lastAccepted - START.getTime()) / 1000) - from,
    per_second: rate,
    share_of_rate: rate / per_second,
  };
}

/** How long it takes until this share of all, 0…1, is accepted, and how many a second are until then. */
export function rateUntil(share: number, bySecond: readonly (number | undefined)[]) {
  const total = bySecond.reduce<number>((sum, count = 0) => sum + count, 0);
  let [accepted, seconds] = [0, 0];
  for (; seconds < bySecond.length && accepted < total * share; seconds++) accepted += bySecond[seconds] ?? 0;
  return { seconds, per_second: seconds === 0 ? 0 : accepted / seconds };
}

/** What nobody can do better: urgent first, oldest first, without a pause. @returns how many expire all the same */
export function idealExpired(waiting: readonly Waiting[], now: number, per_second: number): number {
  let sent = 0;
  let expired = 0;
  for (const [priority, hours] of Object.entries(WINDOW_HOURS)) {
    const deadlines = waiting
      .filter((one) => one.priority === priority)
      .map(({ since }) => since + hours * 3_600_000)
      .sort((a, b) => a - b);
    for (const deadline of deadlines) {
      if (now + (sent / per_second) * 1000 > deadline) expired += 1;
      else sent += 1;
    }
  }
  return expired;
}
