import { type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { gather } from '../../batching/gather.ts';
import { executeStatements, MAX_STATEMENTS, type StatementResult } from './batch.ts';
import { ifConditionHolds } from './conditional-write.ts';
import { type Item, toValue } from './item.ts';
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

/**
 * Makes guarded updates; each answers whether its row was as expected. Updates that are asked for within `wait_ms`
 * share one BatchExecuteStatement of up to 25 (design §6), except those that PartiQL's dialects do not agree on.
 */
export function createGuardedUpdates(
  client: DynamoDBClient,
  table: string,
  wait_ms = 0,
): (update: GuardedUpdate) => Promise<boolean> {
  const execute = gather<GuardedUpdate, StatementResult>(
    (updates) =>
      executeStatements(
        client,
        updates.map((update) => statementOf(table, update)),
      ),
    { max: MAX_STATEMENTS, wait_ms, keyOf: ({ log_id }) => log_id },
  );
  return async (update) => {
    if (!fitsStatement(update)) return updateGuarded(client, table, update);
    const result = await execute(update);
    if (!result.applied && result.invalid !== undefined) throw new Error(result.invalid);
    return result.applied;
  };
}

/** Makes one guarded update with an UpdateItem of its own; false when the row is not as expected. */
export function updateGuarded(
  client: DynamoDBClient,
  table: string,
  { log_id, set, remove = [], asRead }: GuardedUpdate,
  and?: Condition,
): Promise<boolean> {
  const update = updateExpression({ set, remove });
  const guard = guardOf(asRead);
  const command = new UpdateItemCommand({
    TableName: table,
    Key: { log_id: { S: log_id } },
    UpdateExpression: update.expression,
    ConditionExpression: [...(and ? [and.text] : []), ...guard.conditions].join(' AND '),
    ExpressionAttributeNames: { ...update.names, ...guard.names, ...and?.names },
    ExpressionAttributeValues: { ...update.values, ...guard.values, ...and?.values },
  });
  return ifConditionHolds(
    client.send(command).then(() => true),
    false,
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
  return { Statement, Parameters: values.map(toValue) };
}

function guardOf(asRead: GuardedUpdate['asRead']) {
  const names: Record<string, string> = {};
  const values: Item = {};
  const conditions = Object.entries(asRead).map(([column, value], i) => {
    names[`#g${i}`] = column;
    if (value === undefined) return `attribute_not_exists(#g${i})`;
    values[`:g${i}`] = toValue(value);
    return mayBeAbsent(column, value) ? `(attribute_not_exists(#g${i}) OR #g${i} = :g${i})` : `#g${i} = :g${i}`;
  });
  return { conditions, names, values };
}

/** Reading a row that was never attempted supplies −1 for its missing `last_attempt`. */
function mayBeAbsent(column: string, value: unknown): boolean {
  return column === 'last_attempt' && value === -1;
}
