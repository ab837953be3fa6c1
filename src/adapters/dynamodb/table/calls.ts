import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type BatchStatementRequest,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import type { ForeignRow, NotificationRow } from '../../../core/model/notification.ts';
import { GatheredError, gather } from '../../batching/gather.ts';
import { type Item, projection, toForeignRow, toNotificationRow, toValue } from './item.ts';

/** Most statements, puts and gets per call. */
export const MAX_STATEMENTS = 25;
export const MAX_WRITES = 25;
export const MAX_GETS = 100;

/** Rounds in which the unprocessed part of a successful batch is sent, before it counts as failed. */
const ROUNDS = 5;
const PAUSE_MS = 50;

/** Error codes of a single statement that another round may not meet again. */
const RETRYABLE = new Set([
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
  'RequestLimitExceeded',
  'TransactionConflict',
  'InternalServerError',
]);

/** The condition of an update, and the one that every INSERT has: that there is no such item. */
const UNMET = new Set(['ConditionalCheckFailed', 'DuplicateItem']);

/** What BatchStatementError and single calls call it. */
const INVALID = new Set(['ValidationError', 'ValidationException']);

export type StatementResult =
  | { readonly applied: true; readonly item?: Item }
  | {
      readonly applied: false;
      readonly item?: Item;
      /** The statement does not fit the types of the stored row; another try would not help. */
      readonly invalid?: string;
    };

/**
 * Runs conditional updates and inserts in one call. A condition that does not hold is a result, not an error; a call that
 * fails is the error of the statements that were open, and leaves what an earlier round has applied of the batch.
 */
export async function executeStatements(
  client: DynamoDBClient,
  statements: readonly BatchStatementRequest[],
): Promise<(StatementResult | GatheredError)[]> {
  const results: (StatementResult | GatheredError)[] = new Array(statements.length);
  let open = statements.map((statement, index) => ({ statement, index }));
  for (let round = 1; open.length > 0; round++) {
    const call = new BatchExecuteStatementCommand({ Statements: open.map(({ statement }) => statement) });
    const answer = await client.send(call).catch((error: unknown) => new GatheredError(error));
    if (answer instanceof GatheredError) {
      for (const { index } of open) results[index] = answer;
      break;
    }
    const { Responses = [] } = answer;
    if (Responses.length !== open.length) {
      const lacking = new GatheredError(incomplete('Responses'));
      for (const { index } of open) results[index] = lacking;
      break;
    }
    const again: typeof open = [];
    open.forEach((entry, i) => {
      const { Error: fault, Item: item } = Responses[i] ?? {};
      const found = fault?.Item ?? item;
      if (fault === undefined) results[entry.index] = { applied: true, ...(found && { item: found }) };
      else if (UNMET.has(fault.Code ?? '')) results[entry.index] = { applied: false, ...(found && { item: found }) };
      else if (INVALID.has(fault.Code ?? ''))
        results[entry.index] = {
          applied: false,
          invalid: `DynamoDB refused a statement: ${fault.Code}: ${fault.Message}`,
        };
      else if (RETRYABLE.has(fault.Code ?? '') && round < ROUNDS) again.push(entry);
      else
        results[entry.index] = new GatheredError(
          new Error(`DynamoDB refused a statement: ${fault.Code}: ${fault.Message}`),
        );
    });
    open = again;
    if (open.length > 0) await pause(round);
  }
  return results;
}

export function insertStatement(table: string, item: Item): BatchStatementRequest {
  const columns = Object.keys(item).map((name) => `'${name}': ?`);
  return { Statement: `INSERT INTO "${table}" VALUE {${columns.join(', ')}}`, Parameters: Object.values(item) };
}

/** Puts or deletes items of one table; throws when some stay unprocessed. */
export async function writeItems(client: DynamoDBClient, table: string, requests: WriteRequest[]): Promise<void> {
  let open = requests;
  for (let round = 1; open.length > 0; round++) {
    const { UnprocessedItems } = await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: open } }));
    if (UnprocessedItems === undefined) throw incomplete('UnprocessedItems');
    open = UnprocessedItems[table] ?? [];
    if (open.length > 0 && round >= ROUNDS) throw unprocessed('write', open.length, table);
    if (open.length > 0) await pause(round);
  }
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

function unprocessed(verb: string, count: number, table: string): Error {
  return new Error(
    `DynamoDB is throttling: ${count} items to ${verb} in ${table} were unprocessed after ${ROUNDS} rounds.`,
  );
}

export function pause(round: number): Promise<void> {
  const longest = PAUSE_MS * 2 ** round;
  return new Promise((resolve) => setTimeout(resolve, longest / 2 + Math.random() * (longest / 2)));
}

/** The result of a conditional write; `otherwise` when its condition does not hold. */
export async function ifConditionHolds<T, O>(write: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return otherwise;
    throw error;
  }
}

export interface ItemChange {
  /** Attributes without a value are left as they are. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Set where they are absent. */
  readonly once?: Readonly<Record<string, unknown>>;
  readonly remove?: readonly string[];
  /** Numbers to add; an attribute that is absent counts as 0. */
  readonly add?: Readonly<Record<string, number>>;
}

/** The parts of an UpdateItem of top-level attributes. */
export function updateExpression({ set = {}, once = {}, remove = [], add = {} }: ItemChange) {
  const names: Record<string, string> = {};
  const values: Item = {};
  const each = (
    id: string,
    columns: Readonly<Record<string, unknown>>,
    text: (name: string, value: string) => string,
  ) =>
    Object.entries(columns).flatMap(([column, value], i) => {
      if (value === undefined) return [];
      names[`#${id}${i}`] = column;
      values[`:${id}${i}`] = toValue(value);
      return text(`#${id}${i}`, `:${id}${i}`);
    });
  const clauses = {
    SET: [
      ...each('s', set, (name, value) => `${name} = ${value}`),
      ...each('o', once, (name, value) => `${name} = if_not_exists(${name}, ${value})`),
    ],
    REMOVE: remove.map((column, i) => {
      names[`#r${i}`] = column;
      return `#r${i}`;
    }),
    ADD: each('a', add, (name, value) => `${name} ${value}`),
  };
  const given = Object.entries(clauses).filter(([, parts]) => parts.length > 0);
  return { expression: given.map(([verb, parts]) => `${verb} ${parts.join(', ')}`).join(' '), names, values };
}
