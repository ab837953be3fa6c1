import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { publicState } from '../../core/intake/public-state.ts';
import { asNotification, type ForeignRow } from '../../core/model/foreign-row.ts';
import type { Clock } from '../../core/model/time.ts';
import { isGone } from '../../core/model/work/history-index.ts';
import type { IndexShards } from '../../core/model/work/index-shards.ts';
import { matches } from '../../core/operator/search-filter.ts';
import { CrowdedKeyError, readCopies } from '../dynamodb/operator/notification-copies.ts';
import { createOperatorSearch, ForeignPositionError } from '../dynamodb/operator/operator-search.ts';
import {
  badCursor,
  type CopiesRequest,
  crowdedKey,
  encodeCopiesCursor,
  encodeCursor,
  type ListRequest,
} from './list-request.ts';

/** Most rows that are read for one answer: a rare status must not make a request read a whole month. */
const MAX_ROWS_READ = 1_000;
/** Most index pages of 500 entries that are read for one answer, so that a rare channel does not read on and on. */
const MAX_PAGES = 20;

export interface Listing {
  readonly rows: readonly ForeignRow[];
  /** Null at the end. A page may have fewer rows than the limit, even none, and still not be the last one. */
  readonly next_cursor: string | null;
}

/** The rows that one query of an index returned. */
interface Part<Position> {
  readonly found: readonly { readonly row: ForeignRow; readonly position: Position }[];
  readonly pageEnd?: Position;
}

/**
 * Lists a tenant's notifications, newest day first. The copies of one notification have no order.
 * @param shards the partitions of the indexes: as many as the stage ever had
 */
export function createList(client: DynamoDBClient, table: string, clock: Clock, shards: () => Promise<IndexShards>) {
  const search = createOperatorSearch(client, table, clock, { consistent: false, shards });

  async function read<Position>(
    parts: AsyncIterable<Part<Position>>,
    request: ListRequest | CopiesRequest,
    toCursor: (after: Position) => string,
  ): Promise<Listing> {
    const rows: ForeignRow[] = [];
    let rowsRead = 0;
    let pages = 0;
    let last: Position | undefined;
    for await (const { found, pageEnd } of parts) {
      for (const { row, position } of found) {
        const isFull = rows.length === request.limit || rowsRead === MAX_ROWS_READ;
        if (isFull && last !== undefined) return { rows, next_cursor: toCursor(last) };
        if (fits(row, request, clock()) && !isGone(row, clock())) rows.push(row);
        last = position;
        rowsRead += 1;
      }
      if (pageEnd === undefined) continue;
      last = pageEnd;
      pages += 1;
      if (pages === MAX_PAGES) return { rows, next_cursor: toCursor(pageEnd) };
    }
    return { rows, next_cursor: null };
  }

  return async (request: ListRequest | CopiesRequest): Promise<Listing> => {
    try {
      if ('notification_id' in request) {
        const copies = readCopies(client, table, { ...request, shards: (await shards()).work });
        return await read(copies, request, (after) => encodeCopiesCursor(request, after));
      }
      const { period, tenant_id, channel, after } = request;
      const parts = search.createdParts(period, { tenant_id, ...(channel && { channel }) }, after);
      return await read(parts, request, (position) => encodeCursor(period, position));
    } catch (error) {
      if (error instanceof ForeignPositionError) throw badCursor();
      if (error instanceof CrowdedKeyError) throw crowdedKey();
      throw error;
    }
  };
}

function fits(
  row: ForeignRow,
  { tenant_id, channel, priority, status, period }: ListRequest | CopiesRequest,
  now: Date,
): boolean {
  const filter = {
    tenant_id,
    ...(period && { created: period }),
    ...(channel && { channel }),
    ...(priority && { priority }),
  };
  return matches(row, filter) && (status === undefined || publicState(asNotification(row), now) === status);
}
