import { CHANNELS, LANES } from '../model/channels.ts';
import type { SweepLanes } from '../model/lanes.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import type { DueItem } from '../model/work-index.ts';
import { runOptionsOf, type SweepRequest } from './sweep-request.ts';

/**
 * Lanes that still hold messages, as `<channel>-<lane>`. None for a dry run, which sends nothing, and none for a
 * lookahead or a run with overrides, whose messages are in no lane yet.
 */
export async function busyLanes(request: SweepRequest, lanes: SweepLanes): Promise<Set<string>> {
  if (request.dry_run || request.ahead || runOptionsOf(request)) return new Set();
  const asked = CHANNELS.filter((channel) => request.channel === undefined || channel === request.channel).flatMap(
    (channel) => LANES.map((lane) => ({ channel, lane })),
  );
  const counts = await Promise.all(asked.map(({ channel, lane }) => lanes.backlog(channel, lane)));
  return new Set(asked.filter((_, i) => (counts[i] ?? 0) > 0).map(({ channel, lane }) => `${channel}-${lane}`));
}

/**
 * A lane with a backlog gets only what became due since the last sweep: what is older is in the lane already.
 * @param lastSweep epoch milliseconds
 */
export function isInBacklog(
  { channel, priority, work_at }: DueItem,
  busy: ReadonlySet<string>,
  lastSweep: number,
): boolean {
  return busy.has(`${channel}-${PRIORITY_POLICY[priority].lane}`) && epochMs(work_at) <= lastSweep;
}
