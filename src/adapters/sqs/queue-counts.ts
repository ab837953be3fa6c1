import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** A queue's own counts; SQS says that they are approximate. */
export interface QueueCounts {
  readonly visible: number;
  /** Received by someone who has neither deleted them nor let them go yet. */
  readonly in_flight: number;
}

export async function queueCounts(client: SQSClient, url: string): Promise<QueueCounts> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
    }),
  );
  return {
    visible: Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0),
    in_flight: Number(Attributes?.['ApproximateNumberOfMessagesNotVisible'] ?? 0),
  };
}
