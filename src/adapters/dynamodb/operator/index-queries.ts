import { type DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import type { Channel } from '../../../core/model/channels.ts';
import { type ForeignRow, priorityOf } from '../../../core/model/foreign-row.ts';
import { HISTORY_SHARDS, historyBucket, notificationKey } from '../../../core/model/history-index.ts';
import type { SendStatus } from '../../../core/model/notification.ts';
import { PRIORITIES, type Priority } from '../../../core/model/priorities.ts';
import { allShards, type WorkState } from '../../../core/model/work-index.ts';
import { HISTORY_INDEX, NOTIFICATION_INDEX, WORK_INDEX } from '../schema.ts';
import { getItems, MAX_GETS } from '../table/batch.ts';
import { type Item, toForeignRow } from '../table/item.ts';

/** Inclusive, ISO-8601 UTC with milliseconds, as stored. */
export interface TimeRange {
  readonly from: string;
  readonly to: string;
}

/** What a row must be like; the table document's columns. */
export interface LookupFilter {
  readonly notification_id?: string;
  readonly tenant_id?: string;
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly recipient_hash?: string;
  readonly scheduled_at?: TimeRange;
  readonly send_status?: SendStatus;
  readonly send_attempts?: { readonly least: number; readonly most: number };
  readonly sent_at?: TimeRange;
}

/**
 * The table document's seven lookups (his-notification-log-table.md, インデックス定義) on three indexes, none of which
 * a state change pays for (docs/architecture.md, "Lookups"). Every row found costs half a read unit besides the index.
 */
export interface Lookups {
  /** idx_notification_log_notification: the copies of a tenant's notification, on notification_index. */
  byNotification(tenant_id: string, notification_id: string): AsyncGenerator<ForeignRow>;
  /**
   * tenant + status, type, sent, status + attempts, and scheduled: what was created in the range, finished or not,
   * newest day first, on history_index. A tenant narrows the index read; the rest filters.
   */
  history(created: TimeRange, filter: LookupFilter): AsyncGenerator<ForeignRow>;
  /** scheduled, priority + scheduled: what is due in the range (or died in it), urgent first, on work_index. */
  work(state: WorkState, due: TimeRange, filter: LookupFilter): AsyncGenerator<ForeignRow>;
}

/** Characters of `2026-11-01T09:00:00.000Z`. */
const ISO_LENGTH = 24;

export function createLookups(client: DynamoDBClient, table: string): Lookups {
  async function* rowsOf(
    queries: readonly QueryCommandInput[],
    filter: LookupFilter,
    created?: TimeRange,
  ): AsyncGenerator<ForeignRow> {
    for (const query of queries) {
      for await (const keys of pagesOf(client, query)) {
        for (let start = 0; start < keys.length; start += MAX_GETS) {
          const items = await getItems(client, table, keys.slice(start, start + MAX_GETS), { consistent: false });
          yield* items.map(toForeignRow).filter((row) => within(createdAt(row), created) && fits(row, filter));
        }
      }
    }
  }

  return {
    byNotification: (tenant_id, notification_id) =>
      rowsOf([notificationQuery(table, tenant_id, notification_id)], { tenant_id, notification_id }),

    history: (created, filter) =>
      rowsOf(
        daysOf(created).flatMap((day) =>
          Array.from({ length: HISTORY_SHARDS }, (_, shard) =>
            historyQuery(table, historyBucket(day, shard), created, filter),
          ),
        ),
        filter,
        created,
      ),

    work: (state, due, filter) =>
      rowsOf(
        PRIORITIES.filter((priority) => filter.priority === undefined || filter.priority === priority)
          .flatMap((priority) => allShards(state, priority))
          .map((queue) => workQuery(table, queue, due, filter)),
        filter,
      ),
  };
}

function onIndex(
  TableName: string,
  IndexName: string,
  condition: string,
  values: Item,
  filters: Condition[] = [],
): QueryCommandInput {
  return {
    TableName,
    IndexName,
    KeyConditionExpression: condition,
    ExpressionAttributeValues: Object.assign({}, values, ...filters.map((filter) => filter.values)),
    ...(filters.length > 0 && { FilterExpression: filters.map(({ text }) => text).join(' AND ') }),
    // The keys are all that the rows are then read by; channel and the like are only filtered on.
    ProjectionExpression: 'log_id',
  };
}

export function notificationQuery(table: string, tenant_id: string, notification_id: string): QueryCommandInput {
  const key = notificationKey(tenant_id, notification_id);
  return onIndex(table, NOTIFICATION_INDEX, 'notification_key = :key', { ':key': { S: key } });
}

export function historyQuery(
  table: string,
  bucket: string,
  { from, to }: TimeRange,
  filter: LookupFilter,
): QueryCommandInput {
  const filters = projected(filter);
  const { tenant_id } = filter;
  if (tenant_id === undefined)
    return onIndex(table, HISTORY_INDEX, 'history_bucket = :bucket', { ':bucket': { S: bucket } }, filters);
  return onIndex(
    table,
    HISTORY_INDEX,
    'history_bucket = :bucket AND tenant_created_at BETWEEN :from AND :to',
    { ':bucket': { S: bucket }, ':from': { S: `${tenant_id}#${from}` }, ':to': { S: `${tenant_id}#${to}` } },
    filters,
  );
}

export function workQuery(
  table: string,
  queue: string,
  { from, to }: TimeRange,
  filter: LookupFilter,
): QueryCommandInput {
  const { tenant_id, channel } = filter;
  return onIndex(
    table,
    WORK_INDEX,
    'work_queue = :queue AND work_at BETWEEN :from AND :to',
    { ':queue': { S: queue }, ':from': { S: from }, ':to': { S: to } },
    [equals('tenant_id', tenant_id), equals('channel', channel)].filter((condition) => condition !== undefined),
  );
}

interface Condition {
  readonly text: string;
  readonly values: Item;
}

function equals(name: string, value: string | undefined): Condition | undefined {
  return value === undefined ? undefined : { text: `${name} = :${name}`, values: { [`:${name}`]: { S: value } } };
}

/** The filters that the history index can answer itself, so that the rows need not be read for them. */
function projected({ channel, recipient_hash, scheduled_at }: LookupFilter): Condition[] {
  const between: Condition | undefined = scheduled_at && {
    text: 'scheduled_at BETWEEN :scheduled_from AND :scheduled_to',
    values: { ':scheduled_from': { S: scheduled_at.from }, ':scheduled_to': { S: scheduled_at.to } },
  };
  const type: Condition | undefined = channel && {
    // A row that was delivered by its writer has no channel of ours.
    text: '(channel = :channel OR notification_type = :type)',
    values: { ':channel': { S: channel }, ':type': { S: channel.toUpperCase() } },
  };
  return [type, equals('recipient_hash', recipient_hash), between].filter((condition) => condition !== undefined);
}

async function* pagesOf(client: DynamoDBClient, query: QueryCommandInput): AsyncGenerator<Item[]> {
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = await client.send(new QueryCommand({ ...query, ...(ExclusiveStartKey && { ExclusiveStartKey }) }));
    const log_ids = (page.Items ?? []).flatMap(({ log_id }) => log_id ?? []);
    if (log_ids.length > 0) yield log_ids.map((log_id) => ({ log_id }));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
}

/** The days (UTC) that a range touches, newest first. */
export function daysOf({ from, to }: TimeRange): string[] {
  const days: string[] = [];
  const first = Date.parse(from.slice(0, 10));
  for (let day = Date.parse(to.slice(0, 10)); day >= first; day -= 86_400_000)
    days.push(new Date(day).toISOString().slice(0, 10));
  return days;
}

/** What the index could not decide, on the row as it is now; expired rows are there until DynamoDB deletes them. */
function fits(row: ForeignRow, filter: LookupFilter): boolean {
  const { notification_id, send_status, send_attempts, sent_at, scheduled_at, priority, tenant_id } = filter;
  const attempts = Number(row['send_attempts'] ?? 0);
  return (
    Number(row['expires_at'] ?? Number.POSITIVE_INFINITY) * 1000 > Date.now() &&
    (notification_id === undefined || row['notification_id'] === notification_id) &&
    (tenant_id === undefined || row['tenant_id'] === tenant_id) &&
    (priority === undefined || priorityOf(row) === priority) &&
    (send_status === undefined || row['send_status'] === send_status) &&
    (send_attempts === undefined || (attempts >= send_attempts.least && attempts <= send_attempts.most)) &&
    within(row['sent_at'], sent_at) &&
    within(row['scheduled_at'], scheduled_at)
  );
}

/** As the index has it: a writer's own created_at may be written otherwise. */
function createdAt(row: ForeignRow): string {
  return String(row['tenant_created_at'] ?? '').slice(-ISO_LENGTH);
}

function within(value: unknown, range: TimeRange | undefined): boolean {
  return range === undefined || (typeof value === 'string' && value >= range.from && value <= range.to);
}
