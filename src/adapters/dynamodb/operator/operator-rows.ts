import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { RowStore } from '../../../core/delivery/ports.ts';
import type { EventRows } from '../../../core/delivery-events/apply-delivery-event.ts';
import type { NotificationRow } from '../../../core/model/notification.ts';
import type { RowChange } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import { gather } from '../../batching/gather.ts';
import { executeStatements, MAX_STATEMENTS, type StatementResult } from '../table/batch.ts';
import { type Item, toValue } from '../table/item.ts';
import { createRowReader } from '../table/row-reader.ts';
import { updateExpression } from '../table/update-expression.ts';

/** What has to be as it was read. The attempt's number changes with each claim, so a claim in between is noticed. */
const GUARDED = ['send_status', 'last_attempt', 'work_queue', 'work_at'] as const;
type Guarded = readonly (keyof NotificationRow)[];

interface Change {
  readonly row: NotificationRow;
  readonly set: readonly (readonly [string, unknown])[];
  readonly remove: readonly string[];
}

/** OperatorRows on NotificationLog. Unlike the pipeline's own store it also changes rows that are in no work index. */
export function createOperatorRows(client: DynamoDBClient, table: string, clock: Clock): RowStore {
  return createRows(client, table, clock, GUARDED);
}

/** EventRows on NotificationLog: two events may come at once and leave status and place as they are. */
export function createEventRows(client: DynamoDBClient, table: string, clock: Clock): EventRows {
  return createRows(client, table, clock, [...GUARDED, 'updated_at']);
}

function createRows(client: DynamoDBClient, table: string, clock: Clock, guarded: Guarded): RowStore & EventRows {
  const changeMany = gather<Change, StatementResult>(
    (changes) =>
      executeStatements(
        client,
        changes.map((change) => statementOf(table, change, guarded)),
      ),
    { max: MAX_STATEMENTS, keyOf: ({ row }) => row.log_id },
  );
  return {
    read: createRowReader(client, table),

    async change(row, change) {
      const stamped = stamp(row, change, clock().toISOString());
      return fitsStatement(stamped, guarded)
        ? (await changeMany(stamped)).applied
        : changeOne(client, table, stamped, guarded);
    },
  };
}

function stamp(row: NotificationRow, { set, remove = [] }: RowChange, updated_at: string): Change {
  const given = Object.entries({ ...set, updated_at }).filter(([, value]) => value !== undefined);
  return { row, set: given, remove };
}

/** What all PartiQL dialects agree on: one attribute removed, and conditions on attributes that are there. */
function fitsStatement({ row, remove }: Change, guarded: Guarded): boolean {
  return remove.length <= 1 && row.last_attempt >= 0 && guarded.every((column) => row[column] !== undefined);
}

/** A replay's way: 25 of these are one request (design §6). */
function statementOf(table: string, { row, set, remove }: Change, guarded: Guarded) {
  const Statement =
    `UPDATE "${table}" SET ${set.map(([name]) => `${name}=?`).join(', ')} ` +
    remove.map((name) => `REMOVE ${name} `).join('') +
    `WHERE log_id=? AND ${guarded.map((column) => `${column}=?`).join(' AND ')}`;
  const values = [...set.map(([, value]) => value), row.log_id, ...guarded.map((column) => row[column])];
  return { Statement, Parameters: values.map(toValue) };
}

async function changeOne(
  client: DynamoDBClient,
  table: string,
  { row, set, remove }: Change,
  guarded: Guarded,
): Promise<boolean> {
  const update = updateExpression({ set: Object.fromEntries(set), remove });
  const guard = asRead(row, guarded);
  try {
    await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: { log_id: { S: row.log_id } },
        UpdateExpression: update.expression,
        ConditionExpression: guard.condition,
        ExpressionAttributeNames: { ...update.names, ...guard.names },
        ExpressionAttributeValues: { ...update.values, ...guard.values },
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

function asRead(
  row: NotificationRow,
  guarded: Guarded,
): { condition: string; names: Record<string, string>; values: Item } {
  const names: Record<string, string> = {};
  const values: Item = {};
  const conditions = guarded.map((column, i) => {
    names[`#g${i}`] = column;
    if (row[column] === undefined) return `attribute_not_exists(#g${i})`;
    values[`:g${i}`] = toValue(row[column]);
    // Reading supplies −1 for a row that was never attempted.
    const absent = column === 'last_attempt' && row[column] === -1 ? `attribute_not_exists(#g${i}) OR ` : '';
    return `(${absent}#g${i} = :g${i})`;
  });
  return { condition: conditions.join(' AND '), names, values };
}
