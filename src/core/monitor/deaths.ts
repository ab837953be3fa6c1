import { readPartitions, workPartitions } from '../model/work/work-partitions.ts';
import type { DueIndex, DueItem } from '../model/work-index.ts';

/** Most deaths per partition that one notice covers. The rest is left for the next notice. */
const PAGE_SIZE = 250;

export interface Deaths {
  readonly items: readonly DueItem[];
  /** `items` has all deaths before this time, oldest first. */
  readonly until: string;
}

/**
 * The notifications that died in [from, until). It reads one page per partition of the dead part of the work index,
 * whose `work_at` is the time of death. If a partition has more deaths, the period ends earlier, so that none is
 * skipped.
 */
export async function deathsBetween(index: DueIndex, from: string, until: string): Promise<Deaths> {
  const partitions = workPartitions('dead', await index.shards());
  const { pages } = await readPartitions(index, partitions, { from, until, limit: PAGE_SIZE });
  const reached = pages
    .filter(({ next }) => next !== undefined)
    .map(({ items }) => items.at(-1)?.work_at ?? until)
    .reduce((least, time) => (time < least ? time : least), until);
  // Otherwise a page full of deaths of the same millisecond would be read again and again.
  const end = reached > from ? reached : nextMillisecond(from);
  const died = pages.flatMap(({ items }) => items).filter(({ work_at }) => work_at < end);
  return { items: died.sort((a, b) => (a.work_at < b.work_at ? -1 : 1)), until: end };
}

function nextMillisecond(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString();
}
