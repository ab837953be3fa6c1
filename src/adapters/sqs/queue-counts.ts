import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** The counts of a queue. SQS calls them approximate. */
export interface QueueCounts {
  readonly visible: number;
  /** Messages that a consumer has received and neither deleted nor returned yet. */
  readonly in_flight: number;
  /** Messages that are not due yet. */
  readonly delayed: number;
}

export async function queueCounts(client: SQSClient, url: string): Promise<QueueCounts> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: [
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      ],
    }),
  );
  return {
    visible: Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0),
    in_flight: Number(Attributes?.['ApproximateNumberOfMessagesNotVisible'] ?? 0),
    delayed: Number(Attributes?.['ApproximateNumberOfMessagesDelayed'] ?? 0),
  };
}
