import type { QueryCommandInput } from '@aws-sdk/client-dynamodb';
import type { Period, SearchFilter } from '../../../core/operator/search-filter.ts';
import { HISTORY_INDEX, NOTIFICATION_INDEX, WORK_INDEX } from '../schema.ts';
import type { Item } from '../table/item.ts';

/** Reads one partition of a notification's copies from notification_index, and perhaps rows that share its key. */
export function notificationQuery(table: string, key: string): QueryCommandInput {
  return onIndex(table, NOTIFICATION_INDEX, 'notification_key = :key', { ':key': { S: key } });
}

/** Reads what was created in a day's bucket; within the period, if the filter names a tenant. */
export function historyQuery(
  table: string,
  bucket: string,
  { from, to }: Period,
  filter: SearchFilter,
): QueryCommandInput {
  const { tenant_id, channel, recipient_hash, scheduled } = filter;
  const filters = [
    // A row that its writer delivered has a notification_type, but no channel.
    channel && {
      text: '(channel = :channel OR notification_type = :type)',
      values: { ':channel': { S: channel }, ':type': { S: channel.toUpperCase() } },
    },
    equals('recipient_hash', recipient_hash),
    scheduled && {
      text: 'scheduled_at BETWEEN :scheduled_from AND :scheduled_to',
      values: { ':scheduled_from': { S: scheduled.from }, ':scheduled_to': { S: scheduled.to } },
    },
  ];
  if (tenant_id === undefined) {
    return onIndex(table, HISTORY_INDEX, 'history_bucket = :bucket', { ':bucket': { S: bucket } }, filters);
  }
  return onIndex(
    table,
    HISTORY_INDEX,
    'history_bucket = :bucket AND tenant_created_at BETWEEN :from AND :to',
    { ':bucket': { S: bucket }, ':from': { S: `${tenant_id}#${from}` }, ':to': { S: `${tenant_id}#${to}` } },
    filters,
  );
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

/** The days (UTC) that a period touches, newest first. */
export function daysOf({ from, to }: Period): string[] {
  const days: string[] = [];
  const first = Date.parse(from.slice(0, 10));
  for (let day = Date.parse(to.slice(0, 10)); day >= first; day -= 86_400_000)
    days.push(new Date(day).toISOString().slice(0, 10));
  return days;
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
