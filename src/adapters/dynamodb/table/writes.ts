import {
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  PutItemCommand,
  TransactionCanceledException,
  TransactionConflictException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { type Guard, shows } from '../../../core/model/row-change.ts';
import type { Change } from '../../../core/newsletter/model/ports.ts';
import { type Item, toValue } from './item.ts';
import { getItem, incomplete, pause, ROUNDS, unprocessed } from './reads.ts';

/** Most puts and deletions per call. */
export const MAX_WRITES = 25;

export type StatementResult =
  | { readonly applied: true; readonly item?: Item }
  | {
      readonly applied: false;
      readonly item?: Item;
      /** The statement does not fit the types of the stored row; another try would not help. */
      readonly invalid?: string;
    };

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

/** What the item is after the change, where it is asked for. */
type Returning = ItemChange & { readonly returned?: 'ALL_NEW' };

/** Changes the item of any key while one of the guards holds; without guards always. */
export function updateItem(
  client: DynamoDBClient,
  TableName: string,
  Key: Item,
  { returned, ...change }: Returning,
  guards: readonly Guard[] = [],
): Promise<StatementResult> {
  const { expression: UpdateExpression, ...update } = updateExpression(change);
  const command = new UpdateItemCommand({
    TableName,
    Key,
    UpdateExpression,
    ...conditionOf(guards, update),
    ...(returned && { ReturnValues: returned }),
    // DynamoDB takes it only beside a condition.
    ...(guards.length > 0 && { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
  });
  return asResult(() => client.send(command));
}

/** Puts an item while one of the guards holds for what is stored. Not every emulator returns that; AWS does. */
export function putGuarded(
  client: DynamoDBClient,
  TableName: string,
  Item: Item,
  guards: readonly Guard[],
): Promise<StatementResult> {
  const command = new PutItemCommand({
    TableName,
    Item,
    ...conditionOf(guards),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  return asResult(() => client.send(command));
}

/** How often a write is repeated that a transaction on its item has refused: the SDK does not. */
const RETRIES = 3;
async function asResult(write: () => Promise<{ readonly Attributes?: Item | undefined }>): Promise<StatementResult> {
  for (let tries = 1; ; tries++) {
    try {
      const { Attributes: item } = await write();
      return { applied: true, ...(item && { item }) };
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException)
        return { applied: false, ...(error.Item && { item: error.Item }) };
      if (!(error instanceof TransactionConflictException) || tries > RETRIES) throw error;
      await pause(tries);
    }
  }
}

/** One of the guards, as the condition of a write. @param more names and values of the write's other expressions */
export function conditionOf(
  guards: readonly Guard[],
  more: Partial<Pick<ReturnType<typeof updateExpression>, 'names' | 'values'>> = {},
) {
  const names: Record<string, string> = { ...more.names };
  const values: Item = { ...more.values };
  const term = ([column, is, value]: Guard[number], i: string): string => {
    const path = column.split('.').map((part, j) => [`#g${i}_${j}`, part] as const);
    Object.assign(names, Object.fromEntries(path));
    const name = path.map(([placeholder]) => placeholder).join('.');
    const absent = `attribute_not_exists(${name})`;
    if (value === undefined) {
      values[':null'] = { S: 'NULL' };
      return `${is === '<>' ? 'NOT ' : ''}(${absent} OR attribute_type(${name}, :null))`;
    }
    values[`:g${i}`] = toValue(value);
    const comparison = is.replace('absent or ', '');
    const text = comparison === 'begins_with' ? `begins_with(${name}, :g${i})` : `${name} ${comparison} :g${i}`;
    return is === comparison ? text : `(${absent} OR ${text})`;
  };
  const all = (guard: Guard, i: number) => guard.map((one, j) => term(one, `${i}_${j}`)).join(' AND ');
  return {
    ...(guards.length > 0 && { ConditionExpression: guards.map(all).join(' OR ') }),
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

/** Makes writes all or none. The client's token makes a repetition harmless. @returns false where another write came first */
export async function transact(client: DynamoDBClient, TransactItems: TransactWriteItem[]): Promise<boolean> {
  try {
    await client.send(new TransactWriteItemsCommand({ TransactItems }));
    return true;
  } catch (error) {
    if (error instanceof TransactionCanceledException && isConflict(error)) return false;
    throw error;
  }
}

function isConflict({ CancellationReasons = [] }: TransactionCanceledException): boolean {
  const codes = CancellationReasons.map(({ Code = 'None' }) => Code).filter((code) => code !== 'None');
  return codes.length > 0 && codes.every((code) => code === 'ConditionalCheckFailed' || code === 'TransactionConflict');
}

/** The item has the version that it was read with; 0: there was none. */
export function ofVersion({ version }: { readonly version: number }): Guard {
  return [['version', '=', version === 0 ? undefined : version]];
}

export interface VersionedItem<T> {
  readonly table: string;
  readonly key: Item;
  /** The whole item as it was read. */
  readonly was: T;
  readonly change: Change<T>;
  /** Attributes of the change, as they are stored. */
  readonly stored?: { readonly set: Readonly<Record<string, unknown>>; readonly remove: readonly string[] };
  readonly fromItem: (item: Item) => T;
}

/**
 * Changes an item that still has the version it was read with, and sets the next one. A change that was applied before,
 * because its answer got lost, is answered like the first time; undefined when someone else changed the item.
 */
export async function changeVersioned<T extends { readonly version: number }>(
  client: DynamoDBClient,
  { table, key, was, change, stored, fromItem }: VersionedItem<T>,
): Promise<T | undefined> {
  const { set, remove } = stored ?? { set: change.set, remove: (change.remove ?? []).map(String) };
  const next = { set: { ...set, version: was.version + 1 }, remove };
  const { applied, item } = await updateItem(client, table, key, next, [ofVersion(was)]);
  if (applied) return changedItem(was, change);
  // Emulators do not return the item of a failed condition; AWS does.
  const present = item ?? (await getItem(client, table, key));
  const found = present && fromItem(present);
  return found && isOwnWrite(found, was, change) ? found : undefined;
}

/** Whether an item is as the change of the version that was read leaves it. Storage itself sets `updated_at` with each. */
export function isOwnWrite(
  stored: { readonly version: number },
  was: { readonly version: number },
  { set, remove = [] }: { readonly set: object; readonly remove?: readonly PropertyKey[] },
): boolean {
  return stored.version === was.version + 1 && shows(stored, { set: { ...set, updated_at: undefined }, remove });
}

/** What the version proves: the item was the one that was read, so nobody has to send it back. */
function changedItem<T extends { readonly version: number }>(was: T, { set, remove = [] }: Change<T>): T {
  const kept = Object.entries(set).filter(([, value]) => value !== undefined);
  const next: Record<string, unknown> = { ...was, ...Object.fromEntries(kept), version: was.version + 1 };
  for (const name of remove) delete next[String(name)];
  return next as T;
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
