import { BatchWriteItemCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Endpoints } from '../runtime/endpoints-file.ts';
import { type SampleRow, sampleRows } from './sample-rows.ts';

const BATCH = 25;

/**
 * Puts sample failures into NotificationLog with the specified columns only, as other programs do.
 * @returns the number of rows; 0 when the table is not empty, because a data directory keeps the earlier ones
 */
export async function putSamples(
  { endpoints, tables, region }: Endpoints,
  count: number,
  onProgress: (done: number) => void = () => {},
): Promise<number> {
  const client = new DynamoDBClient({
    endpoint: endpoints.dynamodb,
    region,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  try {
    const found = await client.send(new ScanCommand({ TableName: tables.notification_log, Limit: 1 }));
    if ((found.Count ?? 0) > 0) return 0;
    const rows = sampleRows(count, endpoints.simulator, new Date());
    for (let start = 0; start < rows.length; start += BATCH) {
      await write(client, tables.notification_log, rows.slice(start, start + BATCH));
      onProgress(Math.min(rows.length, start + BATCH));
    }
    return rows.length;
  } finally {
    client.destroy();
  }
}

async function write(client: DynamoDBClient, table: string, rows: readonly SampleRow[]): Promise<void> {
  let left = rows.map((row) => ({ PutRequest: { Item: marshall(row) } }));
  while (left.length > 0) {
    const answer = await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: left } }));
    left = (answer.UnprocessedItems?.[table] ?? []) as typeof left;
  }
}
