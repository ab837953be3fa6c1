import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';
import { type Part, readPage } from '../adapters/dynamodb/operator/index-queries.ts';
import { CrowdedKeyError, readCopies } from '../adapters/dynamodb/operator/notification-copies.ts';
import { createOperatorSearch, ForeignPositionError } from '../adapters/dynamodb/operator/operator-search.ts';
import { isGone } from '../core/model/history-index.ts';
import type { IndexShards } from '../core/model/index-shards.ts';
import type { ForeignRow } from '../core/model/notification.ts';
import type { Clock } from '../core/model/time.ts';
import { ALWAYS, matches, type Period, type SearchFilter } from '../core/operator/search-filter.ts';
import { invalid } from '../http/check.ts';
import { moment, placePart } from './contract/fields.ts';
import { badCursor, fromCursor, placeOf, toCursor } from './cursor.ts';

export interface ListDeps {
  readonly dynamodb: DynamoDBClient;
  readonly deployment: { readonly tables: { readonly notification_log: string } };
  readonly clock: Clock;
  /** The partitions of the indexes: as many as the stage ever had. */
  readonly shards: () => Promise<IndexShards>;
}

interface PageRequest {
  readonly filter: SearchFilter;
  /** What no column says of a row. */
  readonly fits?: (row: ForeignRow) => boolean;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface ListRequest extends PageRequest {
  /** Unfinished or dead notifications of any age, urgent first; or what was created in the period, newest day first. */
  readonly source: 'created' | 'due' | 'dead';
  /** Of the first page; a cursor has its own. */
  readonly period: () => Period;
  /** The longest period of a cursor: each day of a period costs a few reads, even if nothing happened on it. */
  readonly most_days?: number;
  /** Reads until the page is full, whatever that costs. Otherwise a page may end early, even empty. */
  readonly full?: boolean;
}

export interface CopiesRequest extends PageRequest {
  readonly tenant_id: string;
  readonly notification_id: string;
  /** The parameter that holds the notification_id. */
  readonly named: string;
}

export interface NotificationPage {
  readonly rows: readonly ForeignRow[];
  /** Null at the end. */
  readonly next_cursor: string | null;
}

const span = v.strictObject({ from: moment, to: moment });
/** The period is part of the cursor, because a default period moves with the clock. */
const listPlace = v.strictObject({
  source: v.optional(v.picklist(['created', 'due', 'dead']), 'created'),
  period: span,
  after: v.strictObject({ partition: placePart, sort: placePart, log_id: placePart }),
});
const copiesPlace = v.strictObject({ notification_id: placePart, period: v.optional(span), after: placePart });

const DAY_MS = 86_400_000;

/** One page of the notifications that match. @throws Problem for a cursor of another list */
export async function listNotifications(request: ListRequest, deps: ListDeps): Promise<NotificationPage> {
  const { source, filter } = request;
  const place = placeIn(request);
  const period = place?.period ?? request.period();
  const { dynamodb, deployment, clock, shards } = deps;
  const options = { consistent: false, shards };
  const search = createOperatorSearch(dynamodb, deployment.tables.notification_log, clock, options);
  const parts =
    source === 'created'
      ? search.created(period, filter, place?.after)
      : search.work(source, ALWAYS, filter, place?.after);
  try {
    const { rows, next } = await readPage(parts, request.limit, request.fits ?? (() => true), request);
    return { rows, next_cursor: toCursor(next && { source, period, after: next }) };
  } catch (error) {
    throw error instanceof ForeignPositionError ? badCursor() : error;
  }
}

/** The place of the cursor, which must lie in the tenant's part of the index: otherwise DynamoDB would refuse it. */
function placeIn({ source, filter, most_days = Number.POSITIVE_INFINITY, cursor }: ListRequest) {
  const place = fromCursor(placeOf(listPlace), cursor);
  if (place === undefined) return undefined;
  const { period, after } = place;
  const days = (Date.parse(period.to) - Date.parse(period.from)) / DAY_MS;
  const { tenant_id } = filter;
  const isInside =
    source !== 'created' ||
    tenant_id === undefined ||
    (after.sort >= `${tenant_id}#${period.from}` && after.sort <= `${tenant_id}#${period.to}`);
  if (place.source === source && days >= 0 && days <= most_days && isInside) return place;
  throw badCursor();
}

/**
 * The copies of one notification, in no order; of all time unless the filter has a period. The index key is made from
 * the tenant of the request, so a cursor never leads to another tenant's rows.
 * @throws Problem for a cursor of another list, or when too many rows of others have the same key
 */
export async function listCopies(request: CopiesRequest, deps: ListDeps): Promise<NotificationPage> {
  const { tenant_id, notification_id, limit, fits = () => true } = request;
  const place = fromCursor(placeOf(copiesPlace), request.cursor);
  if (place !== undefined && place.notification_id !== notification_id) throw badCursor();
  const created = place === undefined ? request.filter.created : place.period;
  const filter = { ...request.filter, tenant_id, ...(created && { created }) };
  const { dynamodb, deployment, clock, shards } = deps;
  const copies: AsyncIterable<Part<string>> = readCopies(dynamodb, deployment.tables.notification_log, {
    tenant_id,
    notification_id,
    after: place?.after,
    shards: (await shards()).work,
  });
  const isListed = (row: ForeignRow) => matches(row, filter) && !isGone(row, clock()) && fits(row);
  try {
    const { rows, next } = await readPage(copies, limit, isListed);
    const cursor = next !== undefined && { notification_id, ...(created && { period: created }), after: next };
    return { rows, next_cursor: toCursor(cursor || undefined) };
  } catch (error) {
    throw error instanceof CrowdedKeyError ? crowded(request.named) : error;
  }
}

/** Rows of others share the index key: neither their ids nor their number is told. */
function crowded(parameter: string) {
  const message = 'cannot be looked up as a notification_id at the moment: omit it, and find its copies by from and to';
  return invalid([{ path: parameter, rule: 'crowded', message }]);
}
