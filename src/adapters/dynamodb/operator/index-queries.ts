import type { DynamoDBClient, QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { tenantKey } from '../../../core/model/history-index.ts';
import type { ForeignRow } from '../../../core/model/notification.ts';
import { DAY_MS, isoBefore, RETENTION_DAYS } from '../../../core/model/time.ts';
import { ALWAYS, type Period, type SearchFilter } from '../../../core/operator/search-filter.ts';
import type { WorkEntries } from '../../../core/operator/views/pipeline-status.ts';
import { HISTORY_INDEX, WORK_INDEX } from '../schema.ts';
import type { Item } from '../table/item.ts';
import { query } from '../table/reads.ts';

/**
 * Reads what was created in a day's bucket.
 * @param tenant_key only what has it, within the period; by default that of the filter's tenant, unless older rows have another
 */
export function historyQuery(
  table: string,
  bucket: string,
  { from, to }: Period,
  filter: SearchFilter,
  tenant_key = onlyKeyOf(filter.tenant_id),
): QueryCommandInput {
  const { channel, recipient_hash, scheduled } = filter;
  const filters = [
    // A row that its writer delivered has a notification_type, but no channel.
    channel && {
      text: '(channel = :channel OR notification_type = :type)',
      values: { ':channel': { S: channel }, ':type': { S: channel.toUpperCase() } },
    },
    equals('recipient_hash', recipient_hash),
    scheduled && {
      text: 'scheduled_at BETWEEN :scheduled_from AND :scheduled_to',
      values: textsAround(scheduled),
    },
  ];
  if (tenant_key === undefined) {
    return onIndex(table, HISTORY_INDEX, 'history_bucket = :bucket', { ':bucket': { S: bucket } }, filters);
  }
  return onIndex(
    table,
    HISTORY_INDEX,
    'history_bucket = :bucket AND tenant_created_at BETWEEN :from AND :to',
    { ':bucket': { S: bucket }, ':from': { S: `${tenant_key}#${from}` }, ':to': { S: `${tenant_key}#${to}` } },
    filters,
  );
}

/**
 * Texts between which every form of a time of the period lies: writers write `2025-06-01 09:00:00`, or zones of their own,
 * whose day may be the one before or after. The row itself decides then.
 */
function textsAround({ from, to }: Period): Item {
  const end = Math.min(Date.parse(to) + DAY_MS, Date.parse(ALWAYS.to));
  const day = new Date(end).toISOString().slice(0, 10);
  return { ':scheduled_from': { S: isoBefore(from, DAY_MS).slice(0, 10) }, ':scheduled_to': { S: `${day}~` } };
}

function onlyKeyOf(tenant_id: string | undefined): string | undefined {
  return tenant_id !== undefined && tenantKey(tenant_id) === tenant_id ? tenant_id : undefined;
}

/** A query of all tenants in a bucket that begins before a key, which is how a reader jumps over a tenant. */
export function jumpQuery(query: QueryCommandInput, sorted_before: string | undefined): QueryCommandInput {
  if (sorted_before === undefined) return query;
  return {
    ...query,
    KeyConditionExpression: `${query.KeyConditionExpression} AND tenant_created_at < :sorted_before`,
    ExpressionAttributeValues: { ...query.ExpressionAttributeValues, ':sorted_before': { S: sorted_before } },
  };
}

/** Entries per request where the index itself decides which of them match. */
const FILTERED_PAGE = 500;

/** A query as it is read for a list: only keys, in the order of the list, and no more than a page of it needs. */
export function pagesOf(query: QueryCommandInput, limit: number, order: 'newest' | 'oldest'): QueryCommandInput {
  const sortKey = query.IndexName === WORK_INDEX ? 'work_at' : 'tenant_created_at';
  return {
    ...query,
    ProjectionExpression: `log_id, ${sortKey}`,
    Limit: query.FilterExpression === undefined ? limit + 1 : FILTERED_PAGE,
    ScanIndexForward: order === 'oldest',
  };
}

/** Reads what is due, or died, within the period in one partition of work_index. */
export function workQuery(
  table: string,
  queue: string,
  { from, to }: Period,
  { tenant_id, channel }: SearchFilter,
): QueryCommandInput {
  return onIndex(
    table,
    WORK_INDEX,
    'work_queue = :queue AND work_at BETWEEN :from AND :to',
    { ':queue': { S: queue }, ':from': { S: from }, ':to': { S: to } },
    [equals('tenant_id', tenant_id), equals('channel', channel)],
  );
}

/**
 * The days (UTC) that a period touches, newest first. No row is from a later day than tomorrow, and rows are kept for two
 * years, so a longer period is read no further back than that from its end.
 */
export function* daysOf({ from, to }: Period, now: Date): Generator<string, void> {
  const last = Math.min(Date.parse(to.slice(0, 10)), now.getTime() + DAY_MS);
  const first = Math.max(Date.parse(from.slice(0, 10)), last - (RETENTION_DAYS + 2) * DAY_MS);
  for (let day = last; day >= first; day -= DAY_MS) yield new Date(day).toISOString().slice(0, 10);
}

/** A condition on projected attributes, which the index decides without the row being read. */
interface IndexFilter {
  readonly text: string;
  readonly values: Item;
}

function equals(name: string, value: string | undefined): IndexFilter | undefined {
  return value === undefined ? undefined : { text: `${name} = :${name}`, values: { [`:${name}`]: { S: value } } };
}

function onIndex(
  TableName: string,
  IndexName: string,
  condition: string,
  values: Item,
  optional: readonly (IndexFilter | undefined)[] = [],
): QueryCommandInput {
  const filters = optional.filter((filter) => filter !== undefined);
  return {
    TableName,
    IndexName,
    KeyConditionExpression: condition,
    ExpressionAttributeValues: Object.assign({}, values, ...filters.map((filter) => filter.values)),
    ...(filters.length > 0 && { FilterExpression: filters.map(({ text }) => text).join(' AND ') }),
    ProjectionExpression: 'log_id',
  };
}

/** WorkEntries on NotificationLog's work index. @param shards per state and priority: the most there ever were */
export function createWorkEntries(client: DynamoDBClient, table: string, shards: () => Promise<number>): WorkEntries {
  return {
    shards,

    async page(work_queue, { limit, newest = false, after, brief = false }) {
      const { items, next } = await query(client, {
        table,
        index: WORK_INDEX,
        key: { work_queue },
        backwards: newest,
        limit,
        after,
        columns: brief ? ['channel', 'work_at'] : ['channel', 'work_at', 'tenant_id', 'log_id'],
      });
      // Without unmarshall: all are text, and there are thousands.
      const entries = items.map((item) => ({
        log_id: item['log_id']?.S ?? '',
        tenant_id: item['tenant_id']?.S ?? '',
        channel: item['channel']?.S ?? '',
        work_at: item['work_at']?.S ?? '',
      }));
      return { entries, ...(next && { next }) };
    },
  };
}

/** Most rows that are read for one page: a rare status must not make a request read a whole month. */
export const MAX_ROWS_READ = 1_000;
/** Most index pages of 500 entries that are read for one page, so that a rare channel does not read on and on. */
export const MAX_PAGES = 20;

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

/** One page of a search; what it reads has a bound. @param full reads on until it is full @param eager ends when it is */
export async function readPage<Position>(
  parts: AsyncIterable<Part<Position>>,
  limit: number,
  fits: (row: ForeignRow) => boolean,
  { full = false, eager = false }: { readonly full?: boolean; readonly eager?: boolean } = {},
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
    const isEnough = rowsRead >= MAX_ROWS_READ || (eager && rows.length === limit);
    if (isEnough && last !== undefined) return { rows, next: last };
    if (pageEnd === undefined) continue;
    last = pageEnd;
    pages += 1;
    if (pages === MAX_PAGES) return { rows, next: pageEnd };
  }
  return { rows };
}
