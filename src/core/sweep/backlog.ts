import { CHANNELS, LANES, type Priority } from '../model/channels.ts';
import type { SweepLanes } from '../model/queue-message.ts';
import { PRIORITY_POLICY, type RetryPolicy } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import type { DueItem } from '../model/work-index.ts';
import { runOptionsOf, type SweepRequest } from './sweep-run.ts';

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

/** Most intervals between two messages for an item that stays due in a busy lane. */
const MOST_INTERVALS = 3;
/** Parts of a window: a message that is lost costs a row little more than one of them. */
const PARTS_OF_WINDOW = 3;

export interface Backlog {
  /** By `<channel>-<lane>`: messages whose row the sweep has not met; their rows are among the oldest. */
  readonly unmet: Map<string, number>;
  /** When this sweep and the last completed one began, epoch milliseconds. */
  readonly now: number;
  readonly lastSweep: number;
  /** Milliseconds between two sweeps. */
  readonly interval: number;
  readonly policy: RetryPolicy;
}

/**
 * Whether the item is sent. The last completed sweep sent what had become due by then, as far as the lane had room: so
 * of these items, as many wait in a lane as it has messages. But a message may have been refused or lost, and their
 * number does not show whose they are. So what stays due is sent again every few intervals; a second message for a row
 * costs one failed claim (docs/decisions/delivery/sweep-and-backlog.md).
 */
export function dispatchOf(item: DueItem, backlog: Backlog): 'send' | 'send_again' | 'skip' {
  const { unmet, lastSweep } = backlog;
  const due = epochMs(item.work_at);
  const lane = laneOf(item);
  const messages = unmet.get(lane) ?? 0;
  if (messages === 0 || due > lastSweep) return 'send';
  unmet.set(lane, messages - 1);
  return isRepeated(due, item.priority, backlog) ? 'send_again' : 'skip';
}

/** Whether the item's age has completed another period since the last sweep, however long ago that sweep was. */
function isRepeated(due: number, priority: Priority, { now, lastSweep, interval, policy }: Backlog): boolean {
  const intervals = intervalsBetweenMessages(policy.priorities[priority].retention_ms, interval);
  if (intervals === 1) return true;
  const periods = (at: number) => Math.floor((at - due) / (intervals * interval));
  return periods(now) > periods(lastSweep);
}

/** Intervals after which a row in a busy lane is sent again, so that it does not expire for lack of a message. */
export function intervalsBetweenMessages(retention_ms: number, interval: number): number {
  const intervals = Math.floor(retention_ms / (PARTS_OF_WINDOW * interval));
  return Math.min(MOST_INTERVALS, Math.max(1, intervals));
}

/** `<channel>-<lane>` */
export function laneOf({ channel, priority }: Pick<DueItem, 'channel' | 'priority'>): string {
  return `${channel}-${PRIORITY_POLICY[priority].lane}`;
}
