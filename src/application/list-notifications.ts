import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';
import { type Part, readPage } from '../adapters/dynamodb/operator/index-queries.ts';
import { type ListPlace, TooManyTenantsError } from '../adapters/dynamodb/operator/merge-runs.ts';
import { END_OF_DAY, type OrderedQuery, OrderedSearch } from '../adapters/dynamodb/operator/newest-first.ts';
import { readCopies } from '../adapters/dynamodb/operator/notification-copies.ts';
import {
  createOperatorSearch,
  ForeignPositionError,
  type SearchPosition,
} from '../adapters/dynamodb/operator/operator-search.ts';
import { historyBucket, isGone, tenantKey, tenantOfKey } from '../core/model/history-index.ts';
import type { IndexShards } from '../core/model/index-shards.ts';
import type { ForeignRow } from '../core/model/notification.ts';
import { type Clock, DAY_MS } from '../core/model/time.ts';
import { ALWAYS, matches, type Period, type SearchFilter } from '../core/operator/search-filter.ts';
import { moment, placePart } from './contract/fields.ts';
import {
  badCursor,
  fromCursor,
  fromListCursor,
  type ListCursor,
  type ListKind,
  placeOf,
  toCursor,
  toListCursor,
} from './cursor.ts';

export interface ListDeps {
  readonly dynamodb: DynamoDBClient;
  readonly deployment: { readonly tables: { readonly notification_log: string } };
  readonly clock: Clock;
  /** The partitions of the indexes: as many as the stage ever had. */
  readonly shards: () => Promise<IndexShards>;
}

interface PageRequest {
  readonly filter: SearchFilter;
  /** A condition that is none on single columns. */
  readonly fits?: (row: ForeignRow) => boolean;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface ListRequest extends PageRequest {
  /** The dead of any age, last death first; unfinished, first due first; or created in the period, newest first. */
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
}

export interface NotificationPage {
  readonly rows: readonly ForeignRow[];
  /** Null at the end. */
  readonly next_cursor: string | null;
  /** Listed tenant by tenant: more tenants sent on a day than can be merged by time. */
  readonly by_tenant?: true;
}

const span = v.strictObject({ from: moment, to: moment });
/** The period is part of the cursor, because a default period moves with the clock. */
const copiesPlace = v.strictObject({
  notification_id: placePart,
  period: v.optional(span),
  after: v.pipe(placePart, v.regex(/^#\d/)),
});

const KINDS = { created: 'created', due: 'unfinished', dead: 'dead' } as const satisfies Record<string, ListKind>;

/**
 * One page of the notifications that match, in the order of time. Where more tenants sent on a day than can be merged,
 * they are listed tenant by tenant. @throws Problem for a cursor of another list
 */
export async function listNotifications(request: ListRequest, deps: ListDeps): Promise<NotificationPage> {
  const { source, filter, limit, cursor, fits = () => true, full = false } = request;
  const place = cursor === undefined ? undefined : placeIn(request, cursor);
  const { dynamodb, deployment, clock, shards } = deps;
  const kind = place?.kind ?? KINDS[source];
  // A list in the order of time goes on from its cursor, so its period ends there.
  const period = place === undefined ? request.period() : { from: place.from, to: place.to ?? place.place.time };
  const query = { filter, fits, limit, after: place?.place, full };
  const search = new OrderedSearch(dynamodb, deployment.tables.notification_log, clock, shards);
  try {
    if (kind === 'by_tenant') return await listByTenant(period, query, deps);
    const { rows, next } = await (source === 'created' ? search.created(period, query) : search.work(source, query));
    const { from } = source === 'created' ? period : NO_PERIOD;
    return { rows, next_cursor: next === undefined ? null : toListCursor({ kind, from, place: next }) };
  } catch (error) {
    if (error instanceof TooManyTenantsError) return listByTenant(period, { ...query, after: undefined }, deps);
    throw error instanceof ForeignPositionError ? badCursor() : error;
  }
}

const NO_PERIOD: Period = { from: new Date(0).toISOString(), to: ALWAYS.to };

/** The newest day first, and each of its shards by tenant. */
async function listByTenant(period: Period, query: OrderedQuery, deps: ListDeps): Promise<NotificationPage> {
  const { filter, limit, fits, after } = query;
  const { dynamodb, deployment, clock, shards } = deps;
  const options = { consistent: false, shards };
  const search = createOperatorSearch(dynamodb, deployment.tables.notification_log, clock, options);
  const { rows, next } = await readPage(search.created(period, filter, after && positionOf(after)), limit, fits, query);
  const cursor = next && { kind: 'by_tenant' as const, ...period, place: placeOfPosition(next) };
  return { rows, next_cursor: cursor ? toListCursor(cursor) : null, by_tenant: true };
}

function positionOf({ time, run, log_id }: ListPlace): SearchPosition {
  const [shard = '', ...tenant] = run.split('.');
  return {
    partition: historyBucket(time.slice(0, 10), Number(shard)),
    sort: `${tenantKey(tenant.join('.'))}#${time}`,
    log_id,
  };
}

function placeOfPosition({ partition, sort, log_id }: SearchPosition): ListPlace {
  const at = sort.lastIndexOf('#');
  const shard = partition.slice(partition.indexOf('#') + 1);
  return { time: sort.slice(at + 1), run: `${shard}.${tenantOfKey(sort)}`, log_id };
}

/** The place of the cursor, which must lie in this list: otherwise DynamoDB would refuse it. */
function placeIn({ source, filter, most_days = Number.POSITIVE_INFINITY }: ListRequest, cursor: string): ListCursor {
  const found = fromListCursor(cursor);
  const { kind, from, to, place } = found;
  const days = (Date.parse(to ?? place.time) - Date.parse(from)) / DAY_MS;
  const isOfTenant = place.run === END_OF_DAY || !place.run.includes('.');
  const isOurs =
    source === 'created'
      ? kind === 'by_tenant'
        ? filter.tenant_id === undefined
        : kind === 'created' && isOfTenant === (filter.tenant_id !== undefined)
      : KINDS[source] === kind;
  if (isOurs && (source !== 'created' || (days >= 0 && days <= most_days))) return found;
  throw badCursor();
}

/**
 * The copies of one notification, in no order; of all time unless the filter has a period. The index key is made from
 * the tenant of the request, so a cursor never leads to another tenant's rows.
 * @throws Problem for a cursor of another list
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
  const { rows, next } = await readPage(copies, limit, isListed);
  const cursor = next !== undefined && { notification_id, ...(created && { period: created }), after: next };
  return { rows, next_cursor: toCursor(cursor || undefined) };
}
