import { join } from 'node:path';
import { GetQueueAttributesCommand, SendMessageBatchCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AwsClients, awsClients } from '../../../../src/local/emulator/aws-clients.ts';
import type { InvocationResult } from '../../../../src/local/emulator/lambda/invocation.ts';
import { type SqsEventSource, startSqsEventSource } from '../../../../src/local/emulator/sources/sqs-event-source.ts';
import type { QueueMappingPlan } from '../../../../src/local/emulator/template/event-sources.ts';
import type { Child } from '../../../../src/local/processes/start-child.ts';
import { startSqs } from '../../../../src/local/stand-ins/stand-ins.ts';
import { createQueues, queueUrl } from '../../../../src/local/stand-ins/tables-and-queues.ts';
import { eventually, scratch } from '../../../support/local/tiny-app.ts';

describe('the SQS event source', () => {
  const directory = scratch();
  const sources: SqsEventSource[] = [];
  let sqs: { endpoint: string; child: Child };
  let clients: AwsClients;
  let queues = 0;

  beforeAll(async () => {
    sqs = await startSqs(undefined, join(directory.path, 'sqs.log'));
    clients = awsClients('http://127.0.0.1:9', sqs.endpoint);
  });
  afterEach(() => Promise.all(sources.splice(0).map((source) => source.stop())));
  afterAll(async () => {
    clients.destroy();
    await sqs.child.stop();
    directory.remove();
  });

  async function queue(attributes: Record<string, string> = {}) {
    const name = `q${++queues}`;
    await createQueues(clients.sqs, sqs.endpoint, [
      { name: `${name}-dead`, attributes: {} },
      {
        name,
        attributes: {
          VisibilityTimeout: '1',
          RedrivePolicy: JSON.stringify({
            deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${name}-dead`,
            maxReceiveCount: 2,
          }),
          ...attributes,
        },
      },
    ]);
    return { name, url: queueUrl(sqs.endpoint, name), dead: queueUrl(sqs.endpoint, `${name}-dead`) };
  }

  function start(
    name: string,
    handle: (event: SQSEvent) => unknown,
    mapping: Partial<QueueMappingPlan> = {},
    concurrency = 1,
    client = clients.sqs,
  ) {
    const events: SQSEvent[] = [];
    const invoke = async (text: string): Promise<InvocationResult> => {
      const event: SQSEvent = JSON.parse(text);
      events.push(event);
      try {
        return { ok: true, result: JSON.stringify((await handle(event)) ?? null) };
      } catch {
        return { ok: false, error: { errorType: 'Error', errorMessage: 'thrown' } };
      }
    };
    sources.push(
      startSqsEventSource({
        client,
        queueUrl: queueUrl(sqs.endpoint, name),
        mapping: {
          id: 'Mapping',
          source: 'queue',
          functionName: 'f',
          sourceArn: `arn:aws:sqs:us-east-1:000000000000:${name}`,
          queueName: name,
          batchSize: 10,
          batchWindowSeconds: 0,
          reportsBatchItemFailures: true,
          filters: [],
          ...mapping,
        },
        invoke,
        log: () => {},
        concurrency,
      }),
    );
    return events;
  }

  const send = (QueueUrl: string, ...bodies: string[]) =>
    clients.sqs.send(
      new SendMessageBatchCommand({
        QueueUrl,
        Entries: bodies.map((MessageBody, index) => ({ Id: String(index), MessageBody })),
      }),
    );

  const left = async (QueueUrl: string): Promise<number> => {
    const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
    const { Attributes = {} } = await clients.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] }),
    );
    return names.reduce((sum, name) => sum + Number(Attributes[name]), 0);
  };
  const empty = (url: string) => eventually(async () => ((await left(url)) === 0 ? true : undefined));

  it("gives the function Lambda's event, and deletes the messages that succeeded", async () => {
    const { name, url } = await queue();
    await clients.sqs.send(
      new SendMessageCommand({
        QueueUrl: url,
        MessageBody: '{"log_id":"n1"}',
        MessageAttributes: { kind: { DataType: 'String', StringValue: 'retry' } },
      }),
    );
    const events = start(name, () => ({ batchItemFailures: [] }));
    await empty(url);
    expect(events).toEqual([
      {
        Records: [
          {
            messageId: expect.stringMatching(/^[\w-]{36}$/),
            receiptHandle: expect.any(String),
            body: '{"log_id":"n1"}',
            attributes: expect.objectContaining({
              ApproximateReceiveCount: '1',
              SentTimestamp: expect.stringMatching(/^\d{13}$/),
              ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
            }),
            messageAttributes: {
              kind: { dataType: 'String', stringValue: 'retry', stringListValues: [], binaryListValues: [] },
            },
            md5OfBody: expect.stringMatching(/^[0-9a-f]{32}$/),
            eventSource: 'aws:sqs',
            eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:${name}`,
            awsRegion: 'us-east-1',
          },
        ],
      },
    ]);
  });

  it('leaves only the reported messages in the queue, which moves them after maxReceiveCount', async () => {
    const { name, url, dead } = await queue();
    await send(url, 'good', 'bad', 'good too');
    const events = start(name, ({ Records }) => ({
      batchItemFailures: Records.filter(({ body }) => body === 'bad').map(({ messageId }) => ({
        itemIdentifier: messageId,
      })),
    }));
    await eventually(async () => ((await left(dead)) === 1 ? true : undefined));
    const bodies = events.flatMap(({ Records }) => Records.map(({ body }) => body));
    expect(bodies.toSorted()).toEqual(['bad', 'bad', 'good', 'good too']);
    expect(await left(url)).toBe(0);
  });

  it.each<[string, (event: SQSEvent) => unknown]>([
    ['throws', () => Promise.reject(new Error('broken'))],
    ['reports a message that was not in the batch', () => ({ batchItemFailures: [{ itemIdentifier: 'unknown' }] })],
    ['reports without an identifier', () => ({ batchItemFailures: [{ itemIdentifier: '' }] })],
    ['answers without a list', () => ({ batchItemFailures: 'all of them' })],
  ])('treats the whole batch as failed when the function %s', async (_, handle) => {
    const { name, url, dead } = await queue();
    await send(url, 'one', 'two');
    start(name, handle);
    await eventually(async () => ((await left(dead)) === 2 ? true : undefined));
    expect(await left(url)).toBe(0);
  });

  it.each([undefined, null, {}, { batchItemFailures: null }, { batchItemFailures: [] }])(
    'treats the whole batch as handled when the function answers %j',
    async (answer) => {
      const { name, url, dead } = await queue();
      await send(url, 'one', 'two');
      start(name, () => answer);
      await empty(url);
      expect(await left(dead)).toBe(0);
    },
  );

  it('ignores the report of a mapping that does not ask for one', async () => {
    const { name, url } = await queue();
    await send(url, 'one');
    const report = ({ Records }: SQSEvent) => ({
      batchItemFailures: Records.map(({ messageId }) => ({ itemIdentifier: messageId })),
    });
    start(name, report, { reportsBatchItemFailures: false });
    await empty(url);
  });

  it('collects messages until the batch window closes, at most one batch', async () => {
    const { name, url } = await queue({ VisibilityTimeout: '30' });
    const events = start(name, () => ({}), { batchSize: 3, batchWindowSeconds: 3 });
    await send(url, '1');
    await send(url, '2');
    await send(url, '3', '4');
    await empty(url);
    const sizes = events.map(({ Records }) => Records.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(3);
    expect(sizes[0]).toBe(3);
  });

  it('fills a batch of more than ten by several receives', async () => {
    const { name, url } = await queue({ VisibilityTimeout: '30' });
    const ten = Array.from({ length: 10 }, (_, i) => String(i));
    for (let i = 0; i < 3; i++) await send(url, ...ten);
    const events = start(name, () => ({}), { batchSize: 25, batchWindowSeconds: 1 });
    await empty(url);
    expect(events.map(({ Records }) => Records.length)).toEqual([25, 5]);
  });

  it('handles what it has received when a further receive fails, and deletes the others when one request fails', async () => {
    const { name, url } = await queue({ VisibilityTimeout: '30' });
    const ten = Array.from({ length: 10 }, (_, i) => String(i));
    for (let i = 0; i < 2; i++) await send(url, ...ten);
    const calls: Record<string, number> = {};
    const failing = Object.create(clients.sqs, {
      send: {
        value: async (command: object, options?: object) => {
          const { name } = command.constructor;
          calls[name] = (calls[name] ?? 0) + 1;
          if (['ReceiveMessageCommand 3', 'DeleteMessageBatchCommand 1'].includes(`${name} ${calls[name]}`))
            throw new Error('reset');
          return clients.sqs.send(command as SendMessageCommand, options);
        },
      },
    });
    const events = start(name, () => ({}), { batchSize: 25, batchWindowSeconds: 5 }, 1, failing);
    await eventually(async () => ((await left(url)) === 10 ? true : undefined));
    expect(events.map(({ Records }) => Records.length)).toEqual([20]);
  });

  it('deletes messages that its filter refuses, and calls the function with the others only', async () => {
    const { name, url } = await queue();
    await send(url, '{"channel":"email"}', '{"channel":"slack"}', 'no JSON');
    const events = start(name, () => ({}), { filters: [{ body: { channel: ['slack'] } }] });
    await empty(url);
    expect(events.flatMap(({ Records }) => Records.map(({ body }) => body))).toEqual(['{"channel":"slack"}']);
  });

  it('handles as many batches at once as it is allowed, and waits for them when it stops', async () => {
    const { name, url } = await queue({ VisibilityTimeout: '30' });
    let atOnce = 0;
    let most = 0;
    start(
      name,
      async () => {
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => setTimeout(resolve, 300));
        atOnce--;
      },
      { batchSize: 1, maximumConcurrency: 2 },
      5,
    );
    await send(url, '1', '2', '3', '4');
    await eventually(() => (atOnce === 2 ? true : undefined));
    await Promise.all(sources.splice(0).map((source) => source.stop()));
    expect(most).toBe(2);
    expect(atOnce).toBe(0);
  });
});
