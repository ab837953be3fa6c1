import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { RetryRecord } from '../../../core/model/notification.ts';
import { type Item, toRetryRecord } from '../table/item.ts';

/** All retry records of a notification, in the order of the attempts. */
export async function readRecords(client: DynamoDBClient, table: string, log_id: string): Promise<RetryRecord[]> {
  const records: RetryRecord[] = [];
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'original_log_id = :id',
        ExpressionAttributeValues: { ':id': { S: log_id } },
        ConsistentRead: true,
        ...(ExclusiveStartKey && { ExclusiveStartKey }),
      }),
    );
    records.push(...(page.Items ?? []).map(toRetryRecord));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
  return records;
}
