import { randomUUID } from 'node:crypto';
import { DeleteMessageBatchCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';
import type { QueueMessage } from '../../src/core/model/queue-message.ts';
import { sqsEvent } from '../../src/local/emulator/sources/sqs-event.ts';
import { LOCAL_REGION } from '../../src/local/emulator/template/references.ts';
import type { MeasuredFunction } from './function.ts';

export interface Polled {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly queueArn: string;
  readonly batchSize: number;
}

/**
 * Gives a queue's messages to a function until the queue is empty, with the requests that Lambda makes: one receive and
 * one delete per batch. The last receive finds nothing and is counted, too.
 * @returns the number of handled messages
 * @throws Error when the function reports a failed message
 */
export async function drain(queue: Polled, fn: MeasuredFunction): Promise<number> {
  const { client, queueUrl: QueueUrl, queueArn, batchSize } = queue;
  for (let handled = 0; ; ) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: batchSize,
        MessageSystemAttributeNames: ['All'],
        WaitTimeSeconds: 0,
      }),
    );
    if (Messages.length === 0) return handled;
    const { results } = await fn.run([sqsEvent(Messages, queueArn, LOCAL_REGION)]);
    expectNoFailures(results);
    await client.send(
      new DeleteMessageBatchCommand({
        QueueUrl,
        Entries: Messages.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle })),
      }),
    );
    handled += Messages.length;
  }
}

/** @throws Error when the handler reported a message as failed, because a delivery was to be measured */
export function expectNoFailures(results: readonly unknown[]): void {
  const failed = results.flatMap((result) => (result as SQSBatchResponse | null)?.batchItemFailures ?? []);
  if (failed.length > 0) throw new Error(`${failed.length} messages came back; the function's log says why`);
}

/** Events for due rows as the sweep would queue them, for benchmarks that measure the function without a queue. */
export function eventsFor(items: readonly Item[], queueArn: string, batchSize: number): SQSEvent[] {
  const records = items.map((item) => {
    const text = (name: string) => item[name]?.S ?? '';
    const message = {
      version: 1,
      log_id: text('log_id'),
      tenant_id: text('tenant_id'),
      channel: text('channel'),
      priority: text('priority'),
      due: text('work_at'),
      run_id: 'sweep-bench',
    };
    return {
      MessageId: randomUUID(),
      ReceiptHandle: randomUUID(),
      Body: JSON.stringify(
        message satisfies Record<keyof Omit<QueueMessage, 'options' | 'enqueued_at' | 'requested_by'>, unknown>,
      ),
      Attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: String(Date.now()),
        SenderId: 'bench',
        ApproximateFirstReceiveTimestamp: String(Date.now()),
      },
    };
  });
  return Array.from({ length: Math.ceil(records.length / batchSize) }, (_, i) =>
    sqsEvent(records.slice(i * batchSize, (i + 1) * batchSize), queueArn, LOCAL_REGION),
  );
}
