import { CHANNELS, LANES } from '../model/channels.ts';
import type { SweepLanes } from '../model/lanes.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import type { DueItem } from '../model/work-index.ts';
import { runOptionsOf, type SweepRequest } from './sweep-request.ts';

/**
 * The messages that lanes hold, by `<channel>-<lane>`. None is asked for a dry run, which sends nothing, nor for a look
 * ahead or a run with overrides, whose messages are in no lane yet.
 */
export async function lanesInUse(request: SweepRequest, lanes: SweepLanes): Promise<Map<string, number>> {
  const { channel: only, dry_run, ahead, express_minutes } = request;
  if (dry_run || ahead || runOptionsOf(request)) return new Map();
  const read = LANES.filter((lane) => express_minutes === undefined || lane === 'express');
  const asked = CHANNELS.filter((channel) => only === undefined || channel === only).flatMap((channel) =>
    read.map((lane) => ({ channel, lane })),
  );
  const counts = await Promise.all(asked.map(({ channel, lane }) => lanes.backlog(channel, lane)));
  return new Map(asked.map(({ channel, lane }, i) => [`${channel}-${lane}`, counts[i] ?? 0]));
}

/** In every so manyth interval of its age, an item is sent whatever its lane holds. */
const REPEATED_EVERY = 3;

/** What a sweep knows of its lanes. */
export interface Backlog {
  /**
   * By `<channel>-<lane>`: messages of the lane whose row the sweep has not met yet. A message's row is among the
   * oldest, as what is sent first is handled first.
   */
  readonly unmet: Map<string, number>;
  /** When this sweep and the last completed one began, epoch milliseconds. */
  readonly now: number;
  readonly lastSweep: number;
  /** Milliseconds between two sweeps. */
  readonly interval: number;
}

/**
 * Whether a message for the item is in its lane already. The last completed sweep sent what had become due by then, as
 * far as the lane had room: so of these items, as many are in a lane as it has messages. But a message may have been
 * refused or lost, and their number does not show whose they are. So what stays due is sent again every few intervals;
 * a second message for a row costs one failed claim (docs/decisions/0073).
 */
export function isInBacklog(item: DueItem, { unmet, now, lastSweep, interval }: Backlog): boolean {
  const due = epochMs(item.work_at);
  const lane = laneOf(item);
  const messages = unmet.get(lane) ?? 0;
  if (messages === 0 || due > lastSweep) return false;
  unmet.set(lane, messages - 1);
  return Math.floor((now - due) / interval) % REPEATED_EVERY !== 0;
}

/** `<channel>-<lane>` */
export function laneOf({ channel, priority }: Pick<DueItem, 'channel' | 'priority'>): string {
  return `${channel}-${PRIORITY_POLICY[priority].lane}`;
}
