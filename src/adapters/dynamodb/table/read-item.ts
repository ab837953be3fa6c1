import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { Item } from './item.ts';

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
