import { DeleteMessageBatchCommand, type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSMessageAttributes, SQSRecord, SQSRecordAttributes } from 'aws-lambda';
import { groupsOf } from '../../../core/model/collections.ts';
import { isObject, type JsonObject, parsed } from '../../support/json.ts';
import { type Log, pause } from '../../support/running.ts';
import { matchesAny } from '../events/event-filter.ts';
import type { Invoke } from '../lambda/invocation.ts';
import type { QueueMappingPlan } from '../template/event-sources.ts';
import { LOCAL_REGION } from '../template/references.ts';
import { failedItems } from './batch-response.ts';

/** Seconds of a long poll: short, so that a clean stop seldom has to abort one. */
const LONG_POLL_SECONDS = 10;
/** SQS gives no more per call. */
const MOST_RECEIVED = 10;
const AFTER_ERROR_MS = 500;

export interface SqsEventSourceOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly mapping: QueueMappingPlan;
  readonly invoke: Invoke;
  readonly log: Log;
  /** Concurrent batches, unless the mapping allows fewer. */
  readonly concurrency: number;
}

export interface SqsEventSource {
  /** Stops receiving and waits for the running batches. */
  stop(): Promise<void>;
}

/**
 * Gives a queue's messages to a function as Lambda does, with batches, filters and partial failures. Failed messages
 * become visible again after their visibility timeout, until the queue's maxReceiveCount moves them.
 */
export function startSqsEventSource(options: SqsEventSourceOptions): SqsEventSource {
  const stopping = new AbortController();
  const pollers = Math.max(1, Math.min(options.concurrency, options.mapping.maximumConcurrency ?? options.concurrency));
  const running = Array.from({ length: pollers }, () => poll(options, stopping.signal));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

async function poll(options: SqsEventSourceOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const messages = await gather(options, signal);
      if (messages.length > 0) await handle(options, messages);
    } catch (error) {
      if (signal.aborted) return;
      tell(error, options);
      await pause(AFTER_ERROR_MS, signal);
    }
  }
}

function tell(error: unknown, { log, mapping }: SqsEventSourceOptions): void {
  log(`${mapping.queueName}: ${error instanceof Error ? error.message : String(error)}`);
}

/**
 * Receives a batch. With a batch window it receives more until the batch is full, the window closes, or a receive fails:
 * what was received before would otherwise be hidden for its visibility timeout.
 */
async function gather(options: SqsEventSourceOptions, signal: AbortSignal): Promise<Message[]> {
  const { batchSize, batchWindowSeconds } = options.mapping;
  const messages = await receive(options, Math.min(MOST_RECEIVED, batchSize), LONG_POLL_SECONDS, signal);
  const closes = Date.now() + batchWindowSeconds * 1000;
  while (messages.length > 0 && messages.length < batchSize && Date.now() < closes && !signal.aborted) {
    try {
      messages.push(...(await receive(options, Math.min(MOST_RECEIVED, batchSize - messages.length), 1, signal)));
    } catch (error) {
      tell(error, options);
      break;
    }
  }
  return messages;
}

async function receive(
  { client, queueUrl }: SqsEventSourceOptions,
  count: number,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<Message[]> {
  try {
    const answer = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: count,
        WaitTimeSeconds: waitSeconds,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      }),
      { abortSignal: signal },
    );
    return answer.Messages ?? [];
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  }
}

async function handle(options: SqsEventSourceOptions, received: readonly Message[]): Promise<void> {
  const { mapping, invoke, log } = options;
  const wanted = received.filter((message) => matchesAny(mapping.filters, filterable(message)));
  const done = received.filter((message) => !wanted.includes(message));
  if (wanted.length > 0) {
    const event = sqsEvent(wanted, mapping.sourceArn, LOCAL_REGION);
    const outcome = await invoke(JSON.stringify(event));
    if (outcome.ok) {
      const ids = new Set(wanted.map((message) => message.MessageId ?? ''));
      const failed = mapping.reportsBatchItemFailures ? failedItems(outcome.result, ids) : new Set<string>();
      if (failed !== 'all') done.push(...wanted.filter((message) => !failed.has(message.MessageId ?? '')));
    } else {
      log(`${mapping.functionName}: ${outcome.error.errorType}: ${outcome.error.errorMessage}`);
    }
  }
  await deleteAll(options, done);
}

/** A filter sees the body as JSON when it is JSON, else as text. */
function filterable(message: Message): JsonObject {
  const { Body: text = '' } = message;
  const json = parsed(text);
  return { body: isObject(json) ? json : text, messageId: message.MessageId, attributes: { ...message.Attributes } };
}

/** A request that fails leaves the others. */
async function deleteAll(options: SqsEventSourceOptions, messages: readonly Message[]): Promise<void> {
  const { client, queueUrl, log } = options;
  for (const chunk of groupsOf(messages, MOST_RECEIVED)) {
    const Entries = chunk.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    try {
      const { Failed = [] } = await client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
      for (const { Code } of Failed) log(`${queueUrl}: a message was not deleted: ${Code}`);
    } catch (error) {
      tell(error, options);
    }
  }
}

/** The event that Lambda's SQS event source gives a function for these messages. */
export function sqsEvent(messages: readonly Message[], queueArn: string, region: string): SQSEvent {
  return { Records: messages.map((message) => sqsRecord(message, queueArn, region)) };
}

function sqsRecord(message: Message, eventSourceARN: string, awsRegion: string): SQSRecord {
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    // Lambda passes on every system attribute that SQS returns.
    attributes: { ...message.Attributes } as unknown as SQSRecordAttributes,
    messageAttributes: messageAttributes(message),
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN,
    awsRegion,
  };
}

function messageAttributes(message: Message): SQSMessageAttributes {
  return Object.fromEntries(
    Object.entries(message.MessageAttributes ?? {}).map(([name, attribute]) => [
      name,
      {
        ...(attribute.StringValue === undefined ? {} : { stringValue: attribute.StringValue }),
        ...(attribute.BinaryValue === undefined
          ? {}
          : { binaryValue: Buffer.from(attribute.BinaryValue).toString('base64') }),
        stringListValues: [],
        binaryListValues: [],
        dataType: attribute.DataType ?? 'String',
      },
    ]),
  );
}
