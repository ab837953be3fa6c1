import { BatchWriteItemCommand, type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { groupsOf } from '../../core/model/collections.ts';
import { awsClients } from '../emulator/aws-clients.ts';
import type { Endpoints } from '../runtime/endpoints-file.ts';
import { showStep } from '../runtime/output.ts';
import type { LocalRuntime } from '../runtime/runtime.ts';
import { type SampleRow, sampleRows } from './sample-rows.ts';

/** Enough samples that every channel has every outcome. */
export const SAMPLE_COUNT = 240;

/** Puts samples, unless there is data, and sweeps once. @throws Error with the message of a failed sweep */
export async function firstRun(runtime: LocalRuntime): Promise<void> {
  const count = await putSamples(runtime.endpoints, SAMPLE_COUNT);
  if (count > 0) showStep(`${count} sample failures put into ${runtime.endpoints.tables.notification_log}`);
  const dispatcher = runtime.endpoints.functions['dispatcher'];
  if (dispatcher === undefined) throw new Error('The stack has no function of the service dispatcher');
  const swept = await runtime.invoke(dispatcher, '{}');
  if (swept === undefined) throw new Error(`There is no function ${dispatcher}`);
  if (!swept.ok) throw new Error(`The first sweep failed: ${swept.error.errorType}: ${swept.error.errorMessage}`);
  const { dispatched } = JSON.parse(swept.result) as { dispatched: number };
  showStep(`first sweep: ${dispatched} notifications on their way`);
}

const BATCH = 25;

/**
 * Puts sample failures into NotificationLog with the specified columns only, as other programs do.
 * @returns the number of rows; 0 when the table is not empty, because a data directory keeps the earlier ones
 */
export async function putSamples({ endpoints, tables }: Endpoints, count: number): Promise<number> {
  const { dynamodb, destroy } = awsClients(endpoints.dynamodb, endpoints.sqs);
  try {
    const found = await dynamodb.send(new ScanCommand({ TableName: tables.notification_log, Limit: 1 }));
    if ((found.Count ?? 0) > 0) return 0;
    const rows = sampleRows(count, endpoints.simulator, new Date());
    for (const some of groupsOf(rows, BATCH)) await write(dynamodb, tables.notification_log, some);
    return rows.length;
  } finally {
    destroy();
  }
}

async function write(client: DynamoDBClient, table: string, rows: readonly SampleRow[]): Promise<void> {
  let left = rows.map((row) => ({ PutRequest: { Item: marshall(row) } }));
  while (left.length > 0) {
    const answer = await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: left } }));
    left = (answer.UnprocessedItems?.[table] ?? []) as typeof left;
  }
}
