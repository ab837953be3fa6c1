import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { NotificationRow } from '../../../core/model/notification.ts';
import { gather } from '../../batching/gather.ts';
import { getItems, MAX_GETS } from './batch.ts';
import { type Item, toNotificationRow } from './item.ts';

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
