import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { publicState } from '../../core/intake/public-state.ts';
import { isGone } from '../../core/model/history-index.ts';
import type { IndexShards } from '../../core/model/index-shards.ts';
import { asNotification, type ForeignRow } from '../../core/model/notification.ts';
import type { Clock } from '../../core/model/time.ts';
import { matches } from '../../core/operator/search-filter.ts';
import { CrowdedKeyError, readCopies } from '../dynamodb/operator/notification-copies.ts';
import { createOperatorSearch, ForeignPositionError } from '../dynamodb/operator/operator-search.ts';
import { type Part, readPage } from '../dynamodb/operator/read-page.ts';
import {
  badCursor,
  type CopiesRequest,
  crowdedKey,
  encodeCopiesCursor,
  encodeCursor,
  type ListRequest,
} from './list-request.ts';

export interface Listing {
  readonly rows: readonly ForeignRow[];
  /** Null at the end. A page may have fewer rows than the limit, even none, and still not be the last one. */
  readonly next_cursor: string | null;
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
    const isListed = (row: ForeignRow) => fits(row, request, clock()) && !isGone(row, clock());
    const { rows, next } = await readPage(parts, request.limit, isListed);
    return { rows, next_cursor: next === undefined ? null : toCursor(next) };
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
