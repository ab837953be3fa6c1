import { PRIORITIES } from '../model/priorities.ts';
import { allShards, type DueIndex, type DueItem } from '../model/work-index.ts';

/** Deaths of a partition that one look takes in; what is beyond is left for the next look. */
const PAGE_SIZE = 250;

export interface Deaths {
  readonly items: readonly DueItem[];
  /** Up to here, excluded, all deaths are in `items`, oldest first. */
  readonly until: string;
}

/**
 * What died in [from, until), by the dead part of the work index, whose `work_at` is the time of death. Reads one page
 * a partition; where more died, the period ends earlier, so that none is passed over.
 */
export async function deathsBetween(index: DueIndex, from: string, until: string): Promise<Deaths> {
  const partitions = PRIORITIES.flatMap((priority) => allShards('dead', priority));
  const pages = await Promise.all(
    partitions.map((partition) => index.page(partition, { from, until, limit: PAGE_SIZE })),
  );
  const reached = pages
    .filter(({ next }) => next !== undefined)
    .map(({ items }) => items.at(-1)?.work_at ?? until)
    .reduce((least, time) => (time < least ? time : least), until);
  // A page full of deaths of the same millisecond would be read for ever.
  const end = reached > from ? reached : nextMillisecond(from);
  const died = pages.flatMap(({ items }) => items).filter(({ work_at }) => work_at < end);
  return { items: died.sort((a, b) => (a.work_at < b.work_at ? -1 : 1)), until: end };
}

function nextMillisecond(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString();
}
