import { ChangeMessageVisibilityBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** A received message that goes back to its queue. */
export interface Returned {
  readonly receipt_handle: string;
  /** Seconds until it is visible again, 0…43200. */
  readonly after_seconds: number;
}

const BATCH = 10;

/**
 * Sets when returned messages become visible again. What fails here only comes back later, after the queue's own
 * visibility timeout, so it is reported and not thrown.
 * @returns how many could not be changed
 */
export async function returnToQueue(client: SQSClient, url: string, returned: readonly Returned[]): Promise<number> {
  let failures = 0;
  for (let start = 0; start < returned.length; start += BATCH) {
    const batch = returned.slice(start, start + BATCH);
    try {
      const { Failed = [] } = await client.send(
        new ChangeMessageVisibilityBatchCommand({
          QueueUrl: url,
          Entries: batch.map(({ receipt_handle, after_seconds }, i) => ({
            Id: String(i),
            ReceiptHandle: receipt_handle,
            VisibilityTimeout: after_seconds,
          })),
        }),
      );
      failures += Failed.length;
    } catch {
      failures += batch.length;
    }
  }
  return failures;
}
