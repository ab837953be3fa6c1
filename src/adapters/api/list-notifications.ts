import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { publicState } from '../../core/intake/public-state.ts';
import { asNotification } from '../../core/operator/notification-view.ts';
import { createdAt, isGone, matches } from '../../core/operator/search-filter.ts';
import type { ForeignRow } from '../../core/row-rules.ts';
import type { Clock } from '../../core/time.ts';
import { createLookups } from '../dynamodb/lookups.ts';
import { createOperatorSearch, ForeignPositionError, type SearchPosition } from '../dynamodb/operator-search.ts';
import { badCursor, encodeCursor, type ListRequest } from './list-request.ts';

/** Rows looked at for one answer: a status that is rare must not make a request read a whole month. */
const MAX_LOOKED_AT = 1_000;
/** Copies of one notification that an answer holds at most. */
const MAX_COPIES = 100;

export interface Listing {
  readonly rows: readonly ForeignRow[];
  /** Null at the end. A page may have fewer rows than asked for, even none, and still not be the last. */
  readonly next_cursor: string | null;
}

/** A tenant's notifications, newest day first. */
export function createList(client: DynamoDBClient, table: string, clock: Clock) {
  const search = createOperatorSearch(client, table, clock, { consistent: false });
  const lookups = createLookups(client, table);

  async function copies(request: ListRequest): Promise<Listing> {
    const rows: ForeignRow[] = [];
    for await (const row of lookups.byNotification(request.notification_id ?? '')) {
      if (fits(row, request, clock()) && !isGone(row, clock())) rows.push(row);
      if (rows.length === MAX_COPIES) break;
    }
    rows.sort((a, b) => (createdAt(a) > createdAt(b) ? -1 : 1));
    return { rows: rows.slice(0, request.limit), next_cursor: null };
  }

  return async (request: ListRequest): Promise<Listing> => {
    if (request.notification_id !== undefined) return copies(request);
    const { period, tenant_id, channel, limit, after } = request;
    const rows: ForeignRow[] = [];
    let last: SearchPosition | undefined;
    let lookedAt = 0;
    try {
      for await (const { row, position } of search.created(period, { tenant_id, ...(channel && { channel }) }, after)) {
        if (rows.length === limit || lookedAt === MAX_LOOKED_AT) {
          return { rows, next_cursor: last === undefined ? null : encodeCursor(period, last) };
        }
        if (fits(row, request, clock())) rows.push(row);
        last = position;
        lookedAt += 1;
      }
    } catch (error) {
      if (error instanceof ForeignPositionError) throw badCursor();
      throw error;
    }
    return { rows, next_cursor: null };
  };
}

function fits(row: ForeignRow, { tenant_id, channel, priority, status }: ListRequest, now: Date): boolean {
  const filter = { tenant_id, ...(channel && { channel }), ...(priority && { priority }) };
  return matches(row, filter) && (status === undefined || publicState(asNotification(row), now) === status);
}
