import { isUtcTime } from '../model/time.ts';
import { workPartitions } from '../model/work/work-partitions.ts';
import type { DueIndex, DueItem, WorkPage } from '../model/work-index.ts';

/** Most deaths per partition that one notice covers. The rest is left for the next notice. */
const PAGE_SIZE = 250;
/** Most pages of a partition that are read until one has a death. */
const MOST_PAGES = 40;

export interface Deaths {
  readonly items: readonly DueItem[];
  /** `items` has all deaths before this time, oldest first. */
  readonly until: string;
}

/**
 * The notifications that died in [from, until). It reads one page with deaths per partition of the dead part of the work
 * index, whose `work_at` is the time of death. If a partition has more deaths, the period ends earlier, so that none is
 * skipped.
 */
export async function deathsBetween(index: DueIndex, from: string, until: string): Promise<Deaths> {
  const partitions = workPartitions('dead', await index.shards());
  const pages = await Promise.all(partitions.map((partition) => firstDeaths(index, partition, from, until)));
  const reached = pages
    .filter(({ next }) => next !== undefined)
    .map((page) => lastTime(page) ?? until)
    .reduce((least, time) => (time < least ? time : least), until);
  // Otherwise a page full of deaths of the same millisecond would be read again and again.
  const end = reached > from ? reached : nextMillisecond(from);
  const died = pages.flatMap(({ items }) => items).filter(({ work_at }) => work_at < end);
  return { items: died.sort((a, b) => (a.work_at < b.work_at ? -1 : 1)), until: end };
}

/** Whoever may write to the table can put entries into the index that are no deaths, and that nobody sets aside here. */
async function firstDeaths(index: DueIndex, partition: string, from: string, until: string): Promise<WorkPage> {
  const query = { from, until, limit: PAGE_SIZE };
  let page = await index.page(partition, query);
  for (let pages = 1; pages < MOST_PAGES && page.items.length === 0 && page.next !== undefined; pages++) {
    page = await index.page(partition, { ...query, after: page.next });
  }
  return page;
}

/** Until when the page has all deaths; undefined if no time in it can be read. */
function lastTime({ items, malformed = [] }: WorkPage): string | undefined {
  return items.at(-1)?.work_at ?? malformed.findLast(({ work_at }) => isUtcTime(work_at))?.work_at;
}

function nextMillisecond(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString();
}
