import { type Breaker, shownPhaseOf } from '../breaker/breaker.ts';
import { CHANNELS, type Channel } from '../model/channels.ts';
import { epochMs } from '../model/time.ts';
import { type DueIndex, readPartitions, workPartitions } from '../model/work-index.ts';

export interface WorkFigures {
  /** Seconds since the oldest due notification became due. 0 when none is due. */
  readonly oldest_due_seconds: number;
  readonly dead: number;
}

/** Items read per partition, oldest first: enough to show every channel, unless one channel floods the others. */
const OLDEST_READ = 100;
/** Dead items counted per partition at most: beyond 32,000 dead in total at eight shards, the figure is a lower bound. */
const DEAD_READ = 1_000;
const END_OF_TIME = '9999-12-31T23:59:59.999Z';

/** Measures the work index by one page per partition, however large it is: 64 queries at eight shards. */
export async function monitorFigures(index: DueIndex, now: Date): Promise<Record<Channel, WorkFigures>> {
  const due = await firstPages('due', index, { until: now.toISOString(), limit: OLDEST_READ });
  const dead = await firstPages('dead', index, { until: END_OF_TIME, limit: DEAD_READ });
  const figures = CHANNELS.map((channel) => {
    const times = due.filter((item) => item.channel === channel).map(({ work_at }) => epochMs(work_at));
    const oldest = times.reduce((least, time) => Math.min(least, time), now.getTime());
    return [
      channel,
      {
        oldest_due_seconds: (now.getTime() - oldest) / 1000,
        dead: dead.filter((item) => item.channel === channel).length,
      },
    ] as const;
  });
  return Object.fromEntries(figures) as Record<Channel, WorkFigures>;
}

async function firstPages(state: 'due' | 'dead', index: DueIndex, page: { until: string; limit: number }) {
  const { pages } = await readPartitions(index, workPartitions(state, await index.shards()), page);
  return pages.flatMap(({ items }) => items);
}

/** The number of providers per channel that are down. A provider whose held notifications are draining is up again. */
export function openByChannel(breakers: readonly Breaker[], now: Date): Record<Channel, number> {
  const open = breakers.filter((breaker) => shownPhaseOf(breaker, now) === 'open');
  const counts = CHANNELS.map((channel) => [channel, open.filter(({ id }) => id.startsWith(`${channel}#`)).length]);
  return Object.fromEntries(counts) as Record<Channel, number>;
}
