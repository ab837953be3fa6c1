import { CHANNELS, LANES } from '../model/channels.ts';
import type { SweepLanes } from '../model/lanes.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import type { DueItem } from '../model/work-index.ts';
import { isBetweenSweeps, runOptionsOf, type SweepRequest } from './sweep-request.ts';

/**
 * Lanes that still hold messages, as `<channel>-<lane>`. None for a dry run, which sends nothing, and none for a run
 * between two sweeps or with overrides, whose messages are in no lane yet.
 */
export async function busyLanes(request: SweepRequest, lanes: SweepLanes): Promise<Set<string>> {
  if (request.dry_run || isBetweenSweeps(request) || runOptionsOf(request)) return new Set();
  const asked = CHANNELS.filter((channel) => request.channel === undefined || channel === request.channel).flatMap(
    (channel) => LANES.map((lane) => ({ channel, lane })),
  );
  const counts = await Promise.all(asked.map(({ channel, lane }) => lanes.backlog(channel, lane)));
  return new Set(asked.filter((_, i) => (counts[i] ?? 0) > 0).map(({ channel, lane }) => `${channel}-${lane}`));
}

/** In every so manyth interval of its age, an item is sent whatever its lane holds. */
const REPEATED_EVERY = 3;

/** What a sweep knows of its lanes. */
export interface Backlog {
  /** Lanes that hold messages, as `<channel>-<lane>`. */
  readonly busy: ReadonlySet<string>;
  /** When this sweep and the last completed one began, epoch milliseconds. */
  readonly now: number;
  readonly lastSweep: number;
  /** Milliseconds between two sweeps. */
  readonly interval: number;
}

/**
 * A lane with a backlog gets only what became due since the last completed sweep began: that one sent what is older.
 * But a message may have been refused or lost, and the number of messages does not show whose they are. So what stays
 * due is sent again every few intervals; a second message for a row costs one failed claim (docs/decisions/0073).
 */
export function isInBacklog(
  { channel, priority, work_at }: DueItem,
  { busy, now, lastSweep, interval }: Backlog,
): boolean {
  const due = epochMs(work_at);
  if (!busy.has(`${channel}-${PRIORITY_POLICY[priority].lane}`) || due > lastSweep) return false;
  return Math.floor((now - due) / interval) % REPEATED_EVERY !== 0;
}
