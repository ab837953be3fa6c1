import { ChangeMessageVisibilityBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { QUEUE_CALL_MS } from '../../core/delivery/policy/attempt-times.ts';
import { chunks } from '../batching/gather.ts';

/** A received message that goes back to its queue. */
export interface Returned {
  readonly receipt_handle: string;
  /** Seconds until it is visible again, 0…43200. */
  readonly after_seconds: number;
}

/** Most messages per request. */
const BATCH = 10;

/**
 * Sets when returned messages become visible again. A message that cannot be changed only comes back later, after the
 * visibility timeout of the queue, so failures are counted and not thrown.
 * @returns how many messages could not be changed
 */
export async function returnToQueue(client: SQSClient, url: string, returned: readonly Returned[]): Promise<number> {
  let failures = 0;
  const abortSignal = AbortSignal.timeout(QUEUE_CALL_MS);
  for (const batch of chunks(returned, BATCH)) {
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
        { abortSignal },
      );
      failures += Failed.length;
    } catch {
      failures += batch.length;
    }
  }
  return failures;
}
