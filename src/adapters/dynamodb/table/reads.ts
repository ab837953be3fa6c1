import {
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  type QueryCommandInput,
  type QueryCommandOutput,
  ScanCommand,
  type ScanCommandInput,
  type ScanCommandOutput,
} from '@aws-sdk/client-dynamodb';
import type { ForeignRow, NotificationRow } from '../../../core/model/notification.ts';
import { gather } from '../../batching/gather.ts';
import { type Item, projection, toForeignRow, toNotificationRow, toValue } from './item.ts';

/** Most keys per call. */
export const MAX_GETS = 100;

/** Rounds in which the unprocessed part of a successful batch is sent, before it counts as failed. */
export const ROUNDS = 5;
const PAUSE_MS = 50;

/** Reads an item consistently; undefined when there is none. @param columns all unless given */
export async function getItem(
  client: DynamoDBClient,
  TableName: string,
  Key: Item,
  columns?: readonly string[],
): Promise<Item | undefined> {
  const { Item, ConsumedCapacity } = await client.send(
    new GetItemCommand({
      TableName,
      Key,
      ConsistentRead: true,
      // Tells an answer without an item from one that lacks everything.
      ReturnConsumedCapacity: 'TOTAL',
      ...(columns && projection(columns)),
    }),
  );
  if (Item === undefined && ConsumedCapacity === undefined) throw incomplete('ConsumedCapacity');
  return Item;
}

/** Reads the item of a log_id consistently. */
export function readItem(
  client: DynamoDBClient,
  table: string,
  log_id: string,
  columns?: readonly string[],
): Promise<Item | undefined> {
  return getItem(client, table, { log_id: { S: log_id } }, columns);
}

type Range = readonly [column: string, is: '<' | '<=' | '>' | '>=' | 'begins_with', value: unknown];
type OneOf = readonly [column: string, is: 'in', values: readonly unknown[]];
type Between = readonly [column: string, is: 'between', from: unknown, to: unknown];

export interface Query {
  readonly table: string;
  readonly index?: string;
  /** The partition. */
  readonly key: Readonly<Record<string, unknown>>;
  /** Within the partition; all of it unless given. */
  readonly range?: Range | Between | undefined;
  /** What the index itself decides, after it has read: a condition on one column. */
  readonly only?: Range | OneOf | undefined;
  readonly columns?: readonly string[];
  readonly consistent?: boolean;
  /** From the end of the partition on. */
  readonly backwards?: boolean;
  readonly limit?: number;
  /** Says what was read. */
  readonly units?: boolean;
  /** The position at which an earlier page ended. */
  readonly after?: object | undefined;
}

export interface QueryPage {
  readonly items: Item[];
  /** The position at which it ended; absent at the end. */
  readonly next?: Item;
  /** 0 unless asked for. */
  readonly read_units: number;
}

function inputOf(query: Query): QueryCommandInput {
  const { table, index, key, range, only, columns, consistent, backwards, limit, units, after } = query;
  const names: Record<string, string> = {};
  const values: Item = {};
  const term = ([column, is, from, to]: readonly unknown[], id: string) => {
    names[`#${id}`] = String(column);
    if (is === 'in') {
      const ids = (from as readonly unknown[]).map((_, i) => `:${id}_${i}`);
      for (const [i, value] of (from as readonly unknown[]).entries()) values[`:${id}_${i}`] = toValue(value);
      return `#${id} IN (${ids.join(', ')})`;
    }
    values[`:${id}`] = toValue(from);
    if (is === 'begins_with') return `begins_with(#${id}, :${id})`;
    if (is !== 'between') return `#${id} ${is} :${id}`;
    values[`:${id}_to`] = toValue(to);
    return `#${id} BETWEEN :${id} AND :${id}_to`;
  };
  const partition = Object.entries(key).map(([column, value]) => [column, '=', value]);
  const projected = columns && projection(columns);
  return {
    TableName: table,
    ...(index !== undefined && { IndexName: index }),
    KeyConditionExpression: [...partition, ...(range ? [range] : [])].map((one, i) => term(one, `k${i}`)).join(' AND '),
    ...(only && { FilterExpression: term(only, 'f') }),
    ...(projected && { ProjectionExpression: projected.ProjectionExpression }),
    ExpressionAttributeNames: { ...names, ...projected?.ExpressionAttributeNames },
    ExpressionAttributeValues: values,
    ...(consistent && { ConsistentRead: true }),
    ...(backwards && { ScanIndexForward: false }),
    ...(limit !== undefined && { Limit: limit }),
    ...(after && { ExclusiveStartKey: after as Item }),
    ...(units && { ReturnConsumedCapacity: 'TOTAL' }),
  };
}

export async function query(client: DynamoDBClient, asked: Query): Promise<QueryPage> {
  return pageOf(await client.send(new QueryCommand(inputOf(asked))));
}

/** One page of a scan, and what it has read. */
export async function scan(client: DynamoDBClient, input: ScanCommandInput, after?: object | null): Promise<QueryPage> {
  const from = after ? { ExclusiveStartKey: after as Item } : {};
  return pageOf(await client.send(new ScanCommand({ ...input, ...from, ReturnConsumedCapacity: 'TOTAL' })));
}

function pageOf(answer: QueryCommandOutput | ScanCommandOutput): QueryPage {
  const { LastEvaluatedKey, ConsumedCapacity } = answer;
  const next = LastEvaluatedKey && { next: LastEvaluatedKey };
  return { items: itemsOf(answer), ...next, read_units: ConsumedCapacity?.CapacityUnits ?? 0 };
}

/** @throws Error if the answer lacks them: then it is no page without items */
export function itemsOf({ Items }: Pick<QueryCommandOutput, 'Items'>): Item[] {
  if (Items === undefined) throw incomplete('Items');
  return Items;
}

/** Page by page to the end. */
export async function* queryPages(client: DynamoDBClient, asked: Query): AsyncGenerator<QueryPage> {
  for (let after = asked.after; ; ) {
    const page = await query(client, { ...asked, after });
    yield page;
    if (page.next === undefined) return;
    after = page.next;
  }
}

export async function queryAll(client: DynamoDBClient, asked: Query): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of queryPages(client, asked)) items.push(...page.items);
  return items;
}

/** Items by key, in no order; a missing one is left out. @param options.onUnits takes the read units of each call */
export async function getItems(
  client: DynamoDBClient,
  table: string,
  keys: readonly Item[],
  options: { consistent: boolean; columns?: readonly string[]; onUnits?: (units: number) => void },
): Promise<Item[]> {
  const { consistent, columns, onUnits } = options;
  const found: Item[] = [];
  let open = [...keys];
  for (let round = 1; open.length > 0; round++) {
    const { Responses, UnprocessedKeys, ConsumedCapacity } = await client.send(
      new BatchGetItemCommand({
        RequestItems: { [table]: { Keys: open, ConsistentRead: consistent, ...(columns && projection(columns)) } },
        ...(onUnits && { ReturnConsumedCapacity: 'TOTAL' }),
      }),
    );
    if (Responses === undefined || UnprocessedKeys === undefined) throw incomplete('UnprocessedKeys');
    found.push(...(Responses[table] ?? []));
    onUnits?.(ConsumedCapacity?.[0]?.CapacityUnits ?? 0);
    open = UnprocessedKeys[table]?.Keys ?? [];
    if (open.length > 0 && round >= ROUNDS) throw unprocessed('get', open.length, table);
    if (open.length > 0) await pause(round);
  }
  return found;
}

async function itemsById(client: DynamoDBClient, table: string, log_ids: readonly string[], consistent: boolean) {
  const keys = [...new Set(log_ids)].map((log_id) => ({ log_id: { S: log_id } }));
  const items = keys.length === 0 ? [] : await getItems(client, table, keys, { consistent });
  return new Map(items.map((item) => [item['log_id']?.S ?? '', item]));
}

/** Any rows by their log_ids, as far as there are such. */
export async function rowsById(
  client: DynamoDBClient,
  table: string,
  log_ids: readonly string[],
  { consistent = false } = {},
): Promise<ReadonlyMap<string, ForeignRow>> {
  const items = await itemsById(client, table, log_ids, consistent);
  return new Map([...items].map(([log_id, item]) => [log_id, toForeignRow(item)]));
}

/** Reads items of NotificationLog or NotificationContent by log_id. Reads of the same moment share one BatchGetItem. */
export function itemReader(
  client: DynamoDBClient,
  table: string,
  { consistent }: { readonly consistent: boolean },
): (log_id: string) => Promise<Item | undefined> {
  return gather<string, Item | undefined>(
    async (log_ids) => {
      const byId = await itemsById(client, table, log_ids, consistent);
      return log_ids.map((log_id) => byId.get(log_id));
    },
    { max: MAX_GETS },
  );
}

/** Reads rows of NotificationLog consistently. */
export function createRowReader(
  client: DynamoDBClient,
  table: string,
): (log_id: string) => Promise<NotificationRow | undefined> {
  const read = itemReader(client, table, { consistent: true });
  return async (log_id) => {
    const item = await read(log_id);
    return item && toNotificationRow(item);
  };
}

/** A 200 without what every answer has says nothing: what is not in it must not count as absent, or as written. */
export const incomplete = (member: string): Error => new Error(`DynamoDB's answer is incomplete: it has no ${member}.`);

export function unprocessed(verb: string, count: number, table: string): Error {
  return new Error(
    `DynamoDB is throttling: ${count} items to ${verb} in ${table} were unprocessed after ${ROUNDS} rounds.`,
  );
}

export function pause(round: number): Promise<void> {
  const longest = PAUSE_MS * 2 ** round;
  return new Promise((resolve) => setTimeout(resolve, longest / 2 + Math.random() * (longest / 2)));
}
