import type { ForeignRow } from '../../../core/model/notification.ts';

/** Most rows that are read for one page: a rare status must not make a request read a whole month. */
const MAX_ROWS_READ = 1_000;
/** Most index pages of 500 entries that are read for one page, so that a rare channel does not read on and on. */
const MAX_PAGES = 20;

/** The rows that one query of an index returned. */
export interface Part<Position> {
  readonly found: readonly { readonly row: ForeignRow; readonly position: Position }[];
  readonly pageEnd?: Position;
  /** Rows that were read, found or not; those that were found unless given. */
  readonly read?: number;
  /** The last of them, whether it was found or not. */
  readonly end?: Position;
}

export interface RowPage<Position> {
  readonly rows: readonly ForeignRow[];
  /** Absent at the end. A page may have fewer rows than the limit, even none, and still not be the last one. */
  readonly next?: Position;
}

/**
 * Reads one page of a search, with a bound on what it reads even if little matches.
 * @param full reads on until the page is full, or there is no more
 */
export async function readPage<Position>(
  parts: AsyncIterable<Part<Position>>,
  limit: number,
  fits: (row: ForeignRow) => boolean,
  { full = false }: { readonly full?: boolean } = {},
): Promise<RowPage<Position>> {
  const rows: ForeignRow[] = [];
  let rowsRead = 0;
  let pages = 0;
  let last: Position | undefined;
  for await (const { found, pageEnd, read = found.length, end } of parts) {
    for (const { row, position } of found) {
      if (rows.length === limit && last !== undefined) return { rows, next: last };
      if (fits(row)) rows.push(row);
      last = position;
    }
    rowsRead += read;
    last = end ?? last;
    if (full) continue;
    if (rowsRead >= MAX_ROWS_READ && last !== undefined) return { rows, next: last };
    if (pageEnd === undefined) continue;
    last = pageEnd;
    pages += 1;
    if (pages === MAX_PAGES) return { rows, next: pageEnd };
  }
  return { rows };
}
