import { type DynamoDBClient, GetItemCommand, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { BATCHES, createDynamoDb } from '../runtime/clients/dynamodb.ts';
import type { Observability } from '../runtime/observability.ts';

export type TimeLeft = Pick<Context, 'getRemainingTimeInMillis'>;

/**
 * The handler of a queue of newsletters. A message that fails comes back after its visibility time-out, and in the end
 * goes to the dead letters; the clock has the work done again meanwhile.
 */
export function messageHandler<Message>(
  parse: (body: string) => Message,
  run: (message: Message, remaining_ms: () => number) => Promise<void>,
  { logger }: Pick<Observability, 'logger'>,
) {
  const handle = async ({ messageId, body }: SQSRecord, context: TimeLeft): Promise<boolean> => {
    try {
      await run(parse(body), () => context.getRemainingTimeInMillis());
      return true;
    } catch (error) {
      logger.error('message failed; it comes back', { message_id: messageId, error: error as Error });
      return false;
    }
  };
  return async ({ Records }: SQSEvent, context: TimeLeft): Promise<SQSBatchResponse> => {
    const done = await Promise.all(Records.map((record) => handle(record, context)));
    const back = Records.filter((_, i) => !done[i]);
    return { batchItemFailures: back.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

/**
 * What the newsletter functions do for each page of members and each call of 50 recipients. An update whose condition
 * fails is made again by the SDK, which gives it its typed error. That is rare: one sender at a time has a batch.
 */
export const NEWSLETTER_CALLS = {
  ...BATCHES,
  GetItem: GetItemCommand,
  Query: QueryCommand,
  UpdateItem: UpdateItemCommand,
};

export function createNewsletterDynamoDb(): DynamoDBClient {
  return createDynamoDb(NEWSLETTER_CALLS);
}
