import { DeleteMessageBatchCommand, type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { QueueMessage } from '../../core/model/queue-message.ts';
import type { DeadLetter } from '../../core/operator/dead-letters/dead-letter.ts';
import { chunks } from '../batching/chunks.ts';
import { parseQueueMessage } from './queue-message-schema.ts';
import { returnToQueue } from './return-to-queue.ts';

/** Most messages per request. */
const BATCH = 10;
/** Seconds for which a received message is hidden from others. If its reader dies, it is visible again after them. */
const HIDDEN_SECONDS = 30;
/** With a wait SQS asks all of its servers instead of a few, so that an empty answer means an empty queue. */
const WAIT_SECONDS = 1;

/** A dead letter that this process has received. */
export interface HeldLetter extends DeadLetter {
  readonly receipt_handle: string;
  readonly body: string;
}

/** Receives up to ten messages, which are hidden from others for half a minute; none when no more are visible. */
export async function receiveLetters(client: SQSClient, url: string, most = BATCH): Promise<HeldLetter[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: Math.min(most, BATCH),
      VisibilityTimeout: HIDDEN_SECONDS,
      WaitTimeSeconds: WAIT_SECONDS,
      MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount'],
    }),
  );
  return Messages.map(toLetter);
}

/**
 * Walks through a dead-letter queue, each message once. When the walk ends, early or not, all messages that the
 * caller did not delete become visible again. A message that becomes visible during the walk is received twice and
 * skipped.
 */
export async function* peekLetters(client: SQSClient, url: string): AsyncGenerator<HeldLetter[]> {
  const held = new Map<string, string>();
  try {
    for (;;) {
      const letters = await receiveLetters(client, url);
      const fresh = letters.filter(({ message_id }) => !held.has(message_id));
      for (const { message_id, receipt_handle } of letters) held.set(message_id, receipt_handle);
      if (fresh.length === 0) return;
      yield fresh;
    }
  } finally {
    await returnToQueue(
      client,
      url,
      [...held.values()].map((receipt_handle) => ({ receipt_handle, after_seconds: 0 })),
    );
  }
}

/** @throws Error when some could not be deleted; these become visible again */
export async function deleteLetters(client: SQSClient, url: string, letters: readonly HeldLetter[]): Promise<void> {
  for (const batch of chunks(letters, BATCH)) {
    const { Failed = [] } = await client.send(
      new DeleteMessageBatchCommand({
        QueueUrl: url,
        Entries: batch.map(({ receipt_handle }, i) => ({ Id: String(i), ReceiptHandle: receipt_handle })),
      }),
    );
    if (Failed.length > 0) {
      throw new Error(`SQS did not delete ${Failed.length} of ${batch.length} dead letters: ${Failed[0]?.Message}.`);
    }
  }
}

function toLetter({ MessageId = '', ReceiptHandle = '', Body = '', Attributes }: Message): HeldLetter {
  const message = queueMessageIn(Body);
  return {
    message_id: MessageId,
    receipt_handle: ReceiptHandle,
    body: Body,
    sent_at: new Date(Number(Attributes?.SentTimestamp ?? 0)),
    receive_count: Number(Attributes?.ApproximateReceiveCount ?? 0),
    ...(message && { message }),
  };
}

/** Undefined for a message that is not one of the lanes'. */
function queueMessageIn(body: string): QueueMessage | undefined {
  try {
    return parseQueueMessage(body);
  } catch {
    return undefined;
  }
}
