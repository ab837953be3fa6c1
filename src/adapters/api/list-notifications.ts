import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { publicState } from '../../core/intake/public-state.ts';
import { asNotification } from '../../core/operator/notification-view.ts';
import { isGone, matches } from '../../core/operator/search-filter.ts';
import type { ForeignRow } from '../../core/row-rules.ts';
import type { Clock } from '../../core/time.ts';
import { readCopies } from '../dynamodb/notification-copies.ts';
import { createOperatorSearch, ForeignPositionError, type SearchPosition } from '../dynamodb/operator-search.ts';
import { badCursor, type CopiesRequest, encodeCopiesCursor, encodeCursor, type ListRequest } from './list-request.ts';

/** Rows looked at for one answer: a status that is rare must not make a request read a whole month. */
const MAX_LOOKED_AT = 1_000;

export interface Listing {
  readonly rows: readonly ForeignRow[];
  /** Null at the end. A page may have fewer rows than asked for, even none, and still not be the last. */
  readonly next_cursor: string | null;
}

/** A tenant's notifications, newest day first; the copies of one notification in no order. */
export function createList(client: DynamoDBClient, table: string, clock: Clock) {
  const search = createOperatorSearch(client, table, clock, { consistent: false });

  async function copies(request: CopiesRequest): Promise<Listing> {
    const page = await readCopies(client, table, request);
    const fitting = page.rows.filter((row) => fits(row, request, clock()) && !isGone(row, clock()));
    const rows = fitting.slice(0, request.limit);
    const next = fitting.length > rows.length ? rows.at(-1)?.['log_id'] : page.next;
    return { rows, next_cursor: next === undefined ? null : encodeCopiesCursor(request, String(next)) };
  }

  return async (request: ListRequest | CopiesRequest): Promise<Listing> => {
    if ('notification_id' in request) return copies(request);
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
