import { setTimeout } from 'node:timers/promises';
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHandler } from '../../../../functions/shared/channel/channel-function.ts';
import { createRetryQueue, returnToQueue } from '../../../../src/adapters/sqs/lanes.ts';
import { PASS_THROUGH, type Sender, type SendResult } from '../../../../src/core/delivery/ports.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';
import type { AdmissionGate } from '../../../../src/core/pacing/ports.ts';
import { MemoryTables } from '../../../../tools/simulation/twins/memory-tables.ts';
import { unpaced } from '../../../support/pacing.ts';
import { CONTENT, dueRow, messageFor, T0 } from '../../../support/rows.ts';

const PATIENT = { getRemainingTimeInMillis: () => 60_000 };

describe('a channel function', () => {
  let server: FauxqsServer;
  let sqs: SQSClient;
  let url: string;
  let tables: MemoryTables;
  let serial = 0;

  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
    sqs = new SQSClient({
      endpoint: server.address,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      useQueueUrlAsEndpoint: false,
    });
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    tables = new MemoryTables(() => T0);
    const name = `lane-${++serial}`;
    const { QueueUrl = '' } = await sqs.send(
      new CreateQueueCommand({ QueueName: name, Attributes: { VisibilityTimeout: '360' } }),
    );
    url = QueueUrl;
  });

  function functionWith(result: SendResult, sent: string[] = [], admission = unpaced()) {
    const sender: Sender = {
      async send({ log_id }) {
        sent.push(log_id);
        return result;
      },
    };
    const queues = { express: `${url}-express`, standard: url };
    return createHandler(
      {
        giveBack: (queue, returned) => returnToQueue(sqs, queue, returned),
        queues,
        admission,
        deliver: {
          rows: tables.rows,
          records: tables.records,
          contents: tables.contents,
          sender,
          successors: tables.successors,
          retries: createRetryQueue(sqs, { email: queues, slack: queues, teams: queues, webhook: queues }),
          policy: DEFAULT_RETRY_POLICY,
          clock: () => T0,
          random: () => 0,
          claim_ms: 65_000,
          inSendTime: (send) => send(new AbortController().signal),
          pause: async () => {},
        },
      },
      { logger: new Logger({ logLevel: 'SILENT' }), metrics: new Metrics({ namespace: 'test' }) },
    );
  }

  async function give(...ids: string[]) {
    for (const log_id of ids) {
      const row = dueRow({ log_id });
      tables.log.set(log_id, { ...row });
      tables.content.set(log_id, { ...CONTENT, tenant_id: row.tenant_id });
      await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: JSON.stringify(messageFor(row)) }));
    }
  }

  async function receive(): Promise<SQSEvent> {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ['All'] }),
    );
    return {
      Records: Messages.map((message) => ({
        messageId: message.MessageId ?? '',
        receiptHandle: message.ReceiptHandle ?? '',
        body: message.Body ?? '',
        attributes: message.Attributes as unknown as SQSEvent['Records'][number]['attributes'],
        messageAttributes: {},
        md5OfBody: '',
        eventSource: 'aws:sqs',
        eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:lane-${serial}`,
        awsRegion: 'us-east-1',
      })),
    };
  }

  const counts = async () => {
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }));
    return {
      visible: Number(Attributes?.['ApproximateNumberOfMessages']),
      delayed: Number(Attributes?.['ApproximateNumberOfMessagesDelayed']),
      in_flight: Number(Attributes?.['ApproximateNumberOfMessagesNotVisible']),
    };
  };

  it('reports nothing when all is delivered', async () => {
    await give('a', 'b', 'c');
    const { batchItemFailures } = await functionWith({ ok: true, response_code: '200' })(await receive(), PATIENT);
    expect(batchItemFailures).toEqual([]);
    expect([...tables.log.values()].every(({ send_status }) => send_status === 'SUCCESS')).toBe(true);
  });

  it('queues a near retry at once, with the delay of its backoff', async () => {
    await give('a');
    const handler = functionWith({ ok: false, error_type: 'NETWORK_TIMEOUT', message: 'late' });
    expect((await handler(await receive(), PATIENT)).batchItemFailures).toEqual([]);
    expect(tables.log.get('a')).toMatchObject({
      send_status: 'RETRY',
      next_retry_at: tables.log.get('a')?.['work_at'],
    });
    expect(await counts()).toMatchObject({ visible: 0, delayed: 1 });
  });

  it('bounces a dead letter, visible at once, and does not send it again on the way to the DLQ', async () => {
    await give('a');
    const sent: string[] = [];
    const handler = functionWith({ ok: false, error_type: 'AUTH_FAILED', message: 'no' }, sent);
    for (let bounce = 0; bounce < 4; bounce++) {
      const event = await receive();
      expect(event.Records, `delivery ${bounce + 1}`).toHaveLength(1);
      expect((await handler(event, PATIENT)).batchItemFailures).toHaveLength(1);
    }
    expect(sent).toEqual(['a']);
  });

  it('sends a message that is not one of ours to the DLQ, and delivers its neighbours', async () => {
    await give('a');
    await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: '{"version":7}' }));
    const event = await receive();
    const add = vi.spyOn(Metrics.prototype, 'addMetric');
    const handler = functionWith({ ok: true, response_code: '200' });
    const { batchItemFailures } = await handler(event, PATIENT);
    expect(batchItemFailures).toEqual([
      { itemIdentifier: event.Records.find(({ body }) => body.includes('7'))?.messageId },
    ]);
    expect(tables.log.get('a')).toMatchObject({ send_status: 'SUCCESS' });
    expect((await counts()).visible).toBe(1);
    await handler(await receive(), PATIENT);
    expect(add.mock.calls.filter(([name]) => name === 'DeadLettered')).toEqual([['DeadLettered', 'Count', 1]]);
    add.mockRestore();
  });

  it('gives back untouched what does not fit into the remaining time', async () => {
    await give('a', 'b');
    const sent: string[] = [];
    const hurried = { getRemainingTimeInMillis: () => 10_000 };
    const { batchItemFailures } = await functionWith({ ok: true, response_code: '200' }, sent)(
      await receive(),
      hurried,
    );
    expect(batchItemFailures).toHaveLength(2);
    expect(sent).toEqual([]);
    expect(tables.log.get('a')).toMatchObject({ send_status: 'FAILED', send_attempts: 1 });
    expect(await counts()).toMatchObject({ visible: 0, in_flight: 2 });
  });

  it('sends copies of what the provider allows no more now, so that their receives start anew', async () => {
    await give('a', 'b');
    const sent: string[] = [];
    const admission: AdmissionGate = {
      screen: async (batch) => ({
        now: batch.filter(({ message }) => message.log_id === 'a'),
        later: batch
          .filter(({ message }) => message.log_id === 'b')
          .map((received) => ({ received, delay_seconds: 1 })),
        waited: 0,
        ...PASS_THROUGH,
      }),
    };
    const event = await receive();
    const original = event.Records.find(({ body }) => body.includes('"b"'));
    const { batchItemFailures } = await functionWith(
      { ok: true, response_code: '200' },
      sent,
      admission,
    )(event, PATIENT);
    expect(batchItemFailures).toEqual([]);
    expect(sent).toEqual(['a']);
    expect(tables.log.get('b')).toMatchObject({ send_status: 'FAILED', send_attempts: 1 });
    expect(await counts()).toMatchObject({ delayed: 1 });
    await setTimeout(1100);
    const [copy] = (await receive()).Records;
    const enqueued_at = new Date(Number(original?.attributes.SentTimestamp)).toISOString();
    expect(JSON.parse(copy?.body ?? '')).toEqual(messageFor(dueRow({ log_id: 'b' }), { enqueued_at }));
  });

  it('gives a postponed message back when SQS takes no copy of it', async () => {
    // There is no express queue here.
    const urgent = dueRow({ log_id: 'b', priority: 'urgent' });
    await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: JSON.stringify(messageFor(urgent)) }));
    const admission: AdmissionGate = {
      screen: async (batch) => ({
        now: [],
        later: batch.map((received) => ({ received, delay_seconds: 60 })),
        waited: 0,
        ...PASS_THROUGH,
      }),
    };
    const event = await receive();
    const { batchItemFailures } = await functionWith({ ok: true, response_code: '200' }, [], admission)(event, PATIENT);
    expect(batchItemFailures).toEqual([{ itemIdentifier: event.Records[0]?.messageId }]);
    expect(await counts()).toMatchObject({ in_flight: 1, delayed: 0 });
  });
});
