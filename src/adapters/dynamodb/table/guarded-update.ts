import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { RowStore } from '../../../core/delivery/ports.ts';
import { type NotificationRow, UPDATED_BY } from '../../../core/model/notification.ts';
import { wasApplied } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import { type GatherOptions, gather } from '../../batching/gather.ts';
import { executeStatements, MAX_STATEMENTS, type StatementResult } from './batch.ts';
import { type Item, toNotificationRow, toValue } from './item.ts';
import { createRowReader } from './read-item.ts';
import { updateExpression } from './update-expression.ts';

/** A change to a row of NotificationLog that is made only while the guarded columns are as they were read. */
export interface GuardedUpdate {
  readonly log_id: string;
  /** Attributes without a value are left as they are. */
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove?: readonly string[];
  /** Guarded columns with their values; a column without a value must still be absent. */
  readonly asRead: Readonly<Record<string, unknown>>;
}

/** A condition beside the guard. */
interface Condition {
  readonly text: string;
  readonly names?: Readonly<Record<string, string>>;
  readonly values: Item;
}

/** The columns of a row as it was read, for GuardedUpdate. */
export function columnsOf<C extends string>(
  row: Readonly<Partial<Record<C, unknown>>>,
  columns: readonly C[],
): Record<string, unknown> {
  return Object.fromEntries(columns.map((column) => [column, row[column]]));
}

type WasApplied = (row: NotificationRow, set: GuardedUpdate['set']) => boolean;

export interface GuardedUpdates {
  /**
   * @param wasApplied whether a row that is not as expected shows that this update was made: the client repeats a
   *   write whose answer was lost
   */
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
    const { applied, item } = await updateItem(client, table, update);
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

/** Makes one guarded update with an UpdateItem of its own; false when the row is not as expected. */
export async function updateGuarded(
  client: DynamoDBClient,
  table: string,
  update: GuardedUpdate,
  and?: Condition,
): Promise<boolean> {
  return (await updateItem(client, table, update, and)).applied;
}

function updateItem(
  client: DynamoDBClient,
  table: string,
  { log_id, set, remove = [], asRead }: GuardedUpdate,
  and?: Condition,
): Promise<StatementResult> {
  const update = updateExpression({ set, remove });
  const guard = guardOf(asRead);
  const command = new UpdateItemCommand({
    TableName: table,
    Key: { log_id: { S: log_id } },
    UpdateExpression: update.expression,
    ConditionExpression: [...(and ? [and.text] : []), ...guard.conditions].join(' AND '),
    ExpressionAttributeNames: { ...update.names, ...guard.names, ...and?.names },
    ExpressionAttributeValues: { ...update.values, ...guard.values, ...and?.values },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  return client.send(command).then(
    () => ({ applied: true }),
    (error: unknown) => {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return { applied: false, ...(error.Item && { item: error.Item }) };
    },
  );
}

/** All PartiQL dialects agree on one removed attribute per statement, and on conditions on attributes that exist. */
function fitsStatement({ remove = [], asRead }: GuardedUpdate): boolean {
  const guarded = Object.entries(asRead);
  return remove.length <= 1 && guarded.every((column) => column[1] !== undefined && !mayBeAbsent(...column));
}

function statementOf(table: string, { log_id, set, remove = [], asRead }: GuardedUpdate) {
  const assigned = Object.entries(set).filter(([, value]) => value !== undefined);
  const guarded = Object.entries(asRead);
  const Statement =
    `UPDATE "${table}" SET ${assigned.map(([column]) => `${column}=?`).join(', ')} ` +
    remove.map((column) => `REMOVE ${column} `).join('') +
    `WHERE log_id=? AND ${guarded.map(([column]) => `${column}=?`).join(' AND ')}`;
  const values = [...assigned.map(([, value]) => value), log_id, ...guarded.map(([, value]) => value)];
  return {
    Statement,
    Parameters: values.map(toValue),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
}

/** The guard as a condition expression. */
export function guardOf(asRead: GuardedUpdate['asRead']) {
  const names: Record<string, string> = {};
  const values: Item = {};
  const absent = Object.values(asRead).includes(undefined);
  const conditions = Object.entries(asRead).map(([column, value], i) => {
    names[`#g${i}`] = column;
    // NULL means absent, as for a writer that sets every column it knows.
    if (value === undefined) return `(attribute_not_exists(#g${i}) OR attribute_type(#g${i}, :null))`;
    values[`:g${i}`] = toValue(value);
    return mayBeAbsent(column, value) ? `(attribute_not_exists(#g${i}) OR #g${i} = :g${i})` : `#g${i} = :g${i}`;
  });
  return { conditions, names, values: absent ? { ...values, ':null': { S: 'NULL' } } : values };
}

/** Reading a row that was never attempted supplies −1 for its missing `last_attempt`. */
function mayBeAbsent(column: string, value: unknown): boolean {
  return column === 'last_attempt' && value === -1;
}

/** Rows of NotificationLog, changed only while the guarded columns are as they were read. */
export function createGuardedRows(
  client: DynamoDBClient,
  table: string,
  clock: Clock,
  guarded: readonly (keyof NotificationRow)[],
): RowStore {
  const read = createRowReader(client, table);
  const update = createGuardedUpdates(client, table, read);
  return {
    read,

    change: (row, { set: given, remove = [] }) => {
      const set = { ...given, updated_at: clock().toISOString(), updated_by: UPDATED_BY };
      const asked = { log_id: row.log_id, set, remove, asRead: columnsOf(row, guarded) };
      return update.gathered(asked, (found) => wasApplied(found, { set, remove }));
    },
  };
}
