import type { ForeignRow } from '../../../core/model/notification.ts';
import { MAX_GETS } from '../table/reads.ts';
import { MAX_PAGES, MAX_ROWS_READ, type RowPage } from './index-queries.ts';

/** A place in a merged list: an entry of an index, or the end of a day. `run` names what the entry was read from. */
export interface ListPlace {
  readonly time: string;
  readonly run: string;
  readonly log_id: string;
}

export type Order = 'newest' | 'oldest';

export interface Entry {
  readonly time: string;
  readonly log_id: string;
}

export interface EntryPage {
  readonly entries: readonly Entry[];
  /** Where the next page begins: nothing that is still unread comes before. Absent at the end. */
  readonly reached?: Entry | undefined;
  readonly more?: (() => Promise<EntryPage>) | undefined;
}

/** A range of an index whose entries lie in the order of the list. It is read page by page, and merged with others. */
export class Run {
  readonly name: string;
  #page: EntryPage;
  #next = 0;

  /** @param page what is read of it already */
  constructor(name: string, page: EntryPage) {
    this.name = name;
    this.#page = page;
  }

  get head(): ListPlace | undefined {
    const entry = this.#page.entries[this.#next];
    return entry && { ...entry, run: this.name };
  }

  /** Whether what it holds is used up, and there is more to read. */
  get isStarved(): boolean {
    return this.head === undefined && this.#page.more !== undefined;
  }

  /** How far it was read; undefined before the first page. */
  get frontier(): ListPlace | undefined {
    const { reached } = this.#page;
    return reached && { ...reached, run: this.name };
  }

  shift(): void {
    this.#next += 1;
  }

  /** @returns whether there is more behind the page that it read */
  async refill(): Promise<boolean> {
    this.#page = (await this.#page.more?.()) ?? { entries: [] };
    this.#next = 0;
    return this.#page.more !== undefined;
  }
}

/** Whether the list has `a` before `b`. Entries of one moment lie in the order of their runs. */
function isAhead(a: ListPlace, b: ListPlace, order: Order): boolean {
  if (a.time !== b.time) return a.time > b.time === (order === 'newest');
  return a.run < b.run;
}

/** The next entries. @returns starved: the runs to read before the list can go on. With neither, it has ended */
function takeEntries(
  runs: readonly Run[],
  most: number,
  order: Order,
): { readonly taken: readonly ListPlace[]; readonly starved: readonly Run[] } {
  const taken: ListPlace[] = [];
  const starved = runs.filter((run) => run.isStarved);
  while (taken.length < most) {
    let best: { readonly run: Run; readonly head: ListPlace } | undefined;
    for (const run of runs) {
      const { head } = run;
      if (head !== undefined && (best === undefined || isAhead(head, best.head, order))) best = { run, head };
    }
    const blocking = starved.filter(({ frontier }) => {
      return best === undefined || frontier === undefined || isAhead(frontier, best.head, order);
    });
    if (best === undefined || blocking.length > 0) return { taken, starved: blocking };
    taken.push(best.head);
    best.run.shift();
    if (best.run.isStarved) starved.push(best.run);
  }
  return { taken, starved: [] };
}

/** The place up to which the list is known although these runs have not been read on; undefined if one was never read. */
function commonFrontier(starved: readonly Run[], order: Order): ListPlace | undefined {
  let first: ListPlace | undefined;
  for (const { frontier } of starved) {
    if (frontier === undefined) return undefined;
    if (first === undefined || isAhead(frontier, first, order)) first = frontier;
  }
  return first;
}

/** Queries after which a page ends at the end of a day, full or not. */
const ENOUGH_QUERIES = 500;

/** Runs that are merged, and the place at which they have ended; the last group of a list has none. */
export interface Group {
  readonly runs: readonly Run[];
  readonly end?: ListPlace;
}

/** More tenants sent on a day than can be merged by time. */
export class TooManyTenantsError extends Error {
  override readonly name = 'TooManyTenantsError';
}

interface PageRequest {
  readonly limit: number;
  /** Reads until the page is full, whatever that costs. */
  readonly full?: boolean;
}

/** A page of the merged runs of group after group. @param rowsOf undefined for a row that the list leaves out */
export async function readMerged(
  groups: AsyncIterable<Group>,
  order: Order,
  { limit, full = false }: PageRequest,
  rowsOf: (log_ids: readonly string[]) => Promise<readonly (ForeignRow | undefined)[]>,
): Promise<RowPage<ListPlace>> {
  const rows: ForeignRow[] = [];
  let [rowsRead, pages, queries] = [0, 0, 0];
  let last: ListPlace | undefined;
  // One more than the page holds tells whether it is the last one.
  let most = Math.min(limit + 1, MAX_GETS);
  try {
    for await (const { runs, end } of groups) {
      for (;;) {
        const { taken, starved } = takeEntries(runs, most, order);
        const found = await rowsOf(taken.map(({ log_id }) => log_id));
        for (const [i, place] of taken.entries()) {
          const row = found[i];
          if (row !== undefined && rows.length === limit && last !== undefined) return { rows, next: last };
          if (row !== undefined) rows.push(row);
          last = place;
        }
        rowsRead += taken.length;
        if (taken.length > 0) most = MAX_GETS;
        if (!full && rowsRead >= MAX_ROWS_READ && last !== undefined) return { rows, next: last };
        if (starved.length === 0 && taken.length === 0) break;
        const frontier = commonFrontier(starved, order);
        if (!full && pages >= MAX_PAGES && frontier !== undefined) return { rows, next: frontier };
        queries += starved.length;
        pages += (await Promise.all(starved.map((run) => run.refill()))).filter(Boolean).length;
      }
      if (end === undefined) continue;
      last = end;
      if (!full && queries >= ENOUGH_QUERIES) return { rows, next: end };
    }
  } catch (error) {
    if (error instanceof TooManyTenantsError && rows.length > 0 && last !== undefined) return { rows, next: last };
    throw error;
  }
  return { rows };
}
