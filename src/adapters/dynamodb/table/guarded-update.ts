import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  PutItemCommand,
  TransactionCanceledException,
  TransactionConflictException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { NotificationRow } from '../../../core/model/notification.ts';
import { type Guard, isOwnWrite, ofVersion } from '../../../core/model/row-change.ts';
import type { Change } from '../../../core/newsletter/model/ports.ts';
import { type GatherOptions, gather } from '../../batching/gather.ts';
import {
  executeStatements,
  type ItemChange,
  MAX_STATEMENTS,
  pause,
  type StatementResult,
  updateExpression,
} from './calls.ts';
import { type Item, toNotificationRow, toValue } from './item.ts';
import { getItem } from './reads.ts';

/** A change to a row of NotificationLog that is made only while its guard holds. */
export interface GuardedUpdate extends Pick<ItemChange, 'remove'> {
  readonly log_id: string;
  readonly set: NonNullable<ItemChange['set']>;
  readonly guard: Guard;
}

type WasApplied = (row: NotificationRow, set: GuardedUpdate['set']) => boolean;

export interface GuardedUpdates {
  /** @param wasApplied whether the row shows this update: the client repeats a write whose answer was lost */
  gathered(update: GuardedUpdate, wasApplied: WasApplied): Promise<boolean>;
  /** The same with an UpdateItem of its own. */
  alone(update: GuardedUpdate, wasApplied: WasApplied): Promise<boolean>;
}

/**
 * Makes guarded updates; each answers whether its row was as expected. Updates that are asked for at the same
 * moment share one BatchExecuteStatement of up to 25, except those that PartiQL's dialects do not agree on.
 */
export function createGuardedUpdates(
  client: DynamoDBClient,
  table: string,
  read: (log_id: string) => Promise<NotificationRow | undefined>,
  when: Pick<GatherOptions<unknown>, 'wait_ms' | 'hold'> = {},
): GuardedUpdates {
  const execute = gather<GuardedUpdate, StatementResult>(
    (updates) =>
      executeStatements(
        client,
        updates.map((update) => statementOf(table, update)),
      ),
    { ...when, max: MAX_STATEMENTS, keyOf: ({ log_id }) => log_id },
  );
  /** Emulators do not return the item of a failed condition; AWS does. */
  const found = async (log_id: string, item: Item | undefined) => (item ? toNotificationRow(item) : read(log_id));
  const alone: GuardedUpdates['gathered'] = async (update, wasApplied) => {
    const { applied, item } = await updateGuarded(client, table, update);
    if (applied) return true;
    const row = await found(update.log_id, item);
    return row !== undefined && wasApplied(row, update.set);
  };
  return {
    alone,
    async gathered(update, wasApplied) {
      if (!fitsStatement(update)) return alone(update, wasApplied);
      const result = await execute(update);
      if (result.applied) return true;
      if (result.invalid !== undefined) throw new Error(result.invalid);
      const row = await found(update.log_id, result.item);
      return row !== undefined && wasApplied(row, update.set);
    },
  };
}

/** Makes one guarded update with an UpdateItem of its own. */
export function updateGuarded(
  client: DynamoDBClient,
  table: string,
  { log_id, guard, ...change }: GuardedUpdate,
): Promise<StatementResult> {
  return updateItem(client, table, { log_id: { S: log_id } }, change, [guard]);
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

/** All PartiQL dialects agree on one removed attribute per statement, and on conditions on attributes that exist. */
function fitsStatement({ remove = [], guard }: GuardedUpdate): boolean {
  return remove.length <= 1 && guard.every(([, is, value]) => is === '=' && value !== undefined);
}

function statementOf(table: string, { log_id, set, remove = [], guard }: GuardedUpdate) {
  const assigned = Object.entries(set).filter(([, value]) => value !== undefined);
  const where = whereOf(guard);
  const Statement =
    `UPDATE "${table}" SET ${assigned.map(([column]) => `${column}=?`).join(', ')} ` +
    remove.map((column) => `REMOVE ${column} `).join('') +
    `WHERE log_id=? AND ${where.text}`;
  const values = [...assigned.map(([, value]) => value), log_id, ...where.values];
  return { Statement, Parameters: values.map(toValue), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const };
}

/** A guard whose columns all exist, in PartiQL. */
export function whereOf(guard: Guard): { readonly text: string; readonly values: readonly unknown[] } {
  const terms = guard.map(([column, is]) => (is === 'begins_with' ? `begins_with(${column}, ?)` : `${column}${is}?`));
  return { text: terms.join(' AND '), values: guard.map(([, , value]) => value) };
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

/** What the version proves: the item was the one that was read, so nobody has to send it back. */
function changedItem<T extends { readonly version: number }>(was: T, { set, remove = [] }: Change<T>): T {
  const kept = Object.entries(set).filter(([, value]) => value !== undefined);
  const next: Record<string, unknown> = { ...was, ...Object.fromEntries(kept), version: was.version + 1 };
  for (const name of remove) delete next[String(name)];
  return next as T;
}
