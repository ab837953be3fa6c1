import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { PLAIN_TABLES, plainScan } from './plain-tables.ts';

const dynamodb = new DynamoDBClient({});
const sqs = new SQSClient({ useQueueUrlAsEndpoint: false });

/** Scans the table and queues the due rows, one message per request. @returns the number of messages */
export async function handler({ queue_url }: { readonly queue_url: string }): Promise<number> {
  let queued = 0;
  for await (const { Items = [] } of paginateScan({ client: dynamodb }, plainScan(PLAIN_TABLES.log, new Date()))) {
    for (const { log_id } of Items) {
      await sqs.send(
        new SendMessageCommand({ QueueUrl: queue_url, MessageBody: JSON.stringify({ log_id: log_id?.S }) }),
      );
      queued += 1;
    }
  }
  return queued;
}
