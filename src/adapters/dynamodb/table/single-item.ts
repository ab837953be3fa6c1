import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  type TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import type { NotificationRow } from '../../../core/model/notification.ts';
import { gather } from '../../batching/gather.ts';
import { getItems, MAX_GETS } from './batch.ts';
import { type Item, toNotificationRow, toValue } from './item.ts';

/** The result of a conditional write; `otherwise` when its condition does not hold. */
export async function ifConditionHolds<T, O>(write: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return otherwise;
    throw error;
  }
}

/** The parts of an UpdateItem that sets and removes top-level attributes. */
export function updateExpression(change: {
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove?: readonly string[];
}): { expression: string; names: Record<string, string>; values: Item } {
  const set = Object.entries(change.set).filter(([, value]) => value !== undefined);
  const remove = change.remove ?? [];
  const clauses = [
    ...(set.length > 0 ? [`SET ${set.map((_, i) => `#s${i} = :s${i}`).join(', ')}`] : []),
    ...(remove.length > 0 ? [`REMOVE ${remove.map((_, i) => `#r${i}`).join(', ')}`] : []),
  ];
  return {
    expression: clauses.join(' '),
    names: Object.fromEntries([
      ...set.map(([name], i) => [`#s${i}`, name]),
      ...remove.map((name, i) => [`#r${i}`, name]),
    ]),
    values: Object.fromEntries(set.map(([, value], i) => [`:s${i}`, toValue(value)])),
  };
}

/**
 * Reads the item of a log_id consistently; undefined when there is none.
 * @param columns all unless given
 */
export async function readItem(
  client: DynamoDBClient,
  table: string,
  log_id: string,
  columns?: readonly string[],
): Promise<Item | undefined> {
  const { Item } = await client.send(
    new GetItemCommand({
      TableName: table,
      Key: { log_id: { S: log_id } },
      ConsistentRead: true,
      ...(columns && { ProjectionExpression: columns.join(', ') }),
    }),
  );
  return Item;
}

/** Reads rows of NotificationLog consistently. Reads of the same moment share one BatchGetItem. */
export function createRowReader(
  client: DynamoDBClient,
  table: string,
): (log_id: string) => Promise<NotificationRow | undefined> {
  return gather<string, NotificationRow | undefined>(
    async (log_ids) => {
      const keys = [...new Set(log_ids)].map((log_id) => ({ log_id: { S: log_id } }));
      const items = await getItems(client, table, keys, { consistent: true });
      const rows = new Map(items.map(toNotificationRow).map((row) => [row.log_id, row]));
      return log_ids.map((log_id) => rows.get(log_id));
    },
    { max: MAX_GETS },
  );
}

/** Whether a transaction failed only because another write came first. */
export function isConflict({ CancellationReasons = [] }: TransactionCanceledException): boolean {
  const codes = CancellationReasons.map(({ Code = 'None' }) => Code).filter((code) => code !== 'None');
  return codes.length > 0 && codes.every((code) => code === 'ConditionalCheckFailed' || code === 'TransactionConflict');
}
