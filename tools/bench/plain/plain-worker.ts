import { DynamoDBClient, GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { SQSEvent } from 'aws-lambda';
import { PLAIN_TABLES } from './plain-tables.ts';

const dynamodb = new DynamoDBClient({});
const BASE_MS = 5 * 60_000;

/** §2 of the job's document, one message at a time: read the row, mark it, send, log the attempt, write the outcome. */
export async function handler({ Records }: SQSEvent): Promise<void> {
  for (const { body } of Records) await retry(JSON.parse(body).log_id);
}

async function retry(log_id: string): Promise<void> {
  const { Item } = await dynamodb.send(
    new GetItemCommand({ TableName: PLAIN_TABLES.log, Key: { log_id: { S: log_id } } }),
  );
  if (Item === undefined) return;
  const row = unmarshall(Item);
  const retry_count = Number(row['retry_count'] ?? 0);
  await update(log_id, { send_status: 'SENDING', updated_at: new Date().toISOString() });
  const started = new Date();
  const answer = await fetch(row['recipient_address'], {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ subject: row['subject'], message: row['message_body'] }),
  });
  await answer.arrayBuffer();
  const next_retry_at = new Date(Date.now() + BASE_MS * 2 ** retry_count * (1 + Math.random())).toISOString();
  const record = {
    retry_log_id: `${log_id}-${retry_count + 1}`,
    original_log_id: log_id,
    retry_attempt: retry_count + 1,
    retry_at: started.toISOString(),
    retry_status: answer.ok ? 'SUCCESS' : 'FAILED',
    ...(!answer.ok && { error_type: `HTTP ${answer.status}`, next_retry_at }),
  };
  await dynamodb.send(new PutItemCommand({ TableName: PLAIN_TABLES.retry_log, Item: marshall(record) }));
  const response_code = String(answer.status);
  await update(
    log_id,
    answer.ok
      ? { send_status: 'SUCCESS', sent_at: new Date().toISOString(), response_code }
      : { send_status: 'FAILED', retry_count: retry_count + 1, next_retry_at, response_code },
  );
}

async function update(log_id: string, set: Readonly<Record<string, unknown>>): Promise<void> {
  const entries = Object.entries(set);
  await dynamodb.send(
    new UpdateItemCommand({
      TableName: PLAIN_TABLES.log,
      Key: { log_id: { S: log_id } },
      UpdateExpression: `SET ${entries.map((_, i) => `#n${i} = :v${i}`).join(', ')}`,
      ExpressionAttributeNames: Object.fromEntries(entries.map(([name], i) => [`#n${i}`, name])),
      ExpressionAttributeValues: marshall(Object.fromEntries(entries.map(([, value], i) => [`:v${i}`, value]))),
    }),
  );
}
