import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { CreateQueueCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { METRICS } from '../../src/core/model/metrics.ts';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { SES_EVENTS } from '../corpus/ses-events/cases.ts';
import { acceptedRow, recordOf, uncertainRow } from '../support/delivery-events.ts';
import { deployedRules, eventOf } from '../support/lib/ses-rules.ts';
import { at, iso } from '../support/rows.ts';

const body = (changes: object = {}) =>
  JSON.stringify({
    version: 1,
    event: 'Delivery',
    at: iso(),
    log_id: 'log-1',
    attempt: '2',
    provider_message_id: 'message-2',
    ...changes,
  });
const BOUNCE = { event: 'Bounce', bounce: { type: 'Permanent', sub_type: 'General', status: '5.1.1' } };

describe('the function of delivery events', () => {
  let createHandler: typeof import('../../functions/delivery-events/handler.ts')['createHandler'];
  let server: FauxqsServer;
  let sqs: SQSClient;
  let queue = '';
  let serial = 0;

  beforeAll(async () => {
    const lanes = { express: 'http://127.0.0.1/e', standard: 'http://127.0.0.1/s' };
    // The module binds itself to its environment on import, as Lambda loads it.
    Object.assign(process.env, {
      NOTIFICATION_LOG_TABLE: 'log',
      NOTIFICATION_RETRY_LOG_TABLE: 'records',
      LANE_QUEUES: JSON.stringify(Object.fromEntries(CHANNELS.map((name) => [name, lanes]))),
      DELIVERY_EVENTS_QUEUE: 'http://127.0.0.1/events',
      RETRY_POLICY: JSON.stringify({
        base_interval_seconds: 300,
        max_retries: { urgent: 1, important: 1, normal: 1, info: 1 },
        retention_hours: { urgent: 1, important: 1, normal: 1, info: 1 },
      }),
      POWERTOOLS_METRICS_NAMESPACE: 'test',
      AWS_REGION: 'us-east-1',
    });
    ({ createHandler } = await import('../../functions/delivery-events/handler.ts'));
    server = await startFauxqs({ port: 0, logger: false });
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    sqs = new SQSClient({ endpoint: server.address, region: 'us-east-1', credentials, useQueueUrlAsEndpoint: false });
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    const Attributes = { VisibilityTimeout: '360' };
    const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `events-${++serial}`, Attributes }));
    queue = QueueUrl;
  });

  async function receive(): Promise<SQSEvent['Records']> {
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queue, MaxNumberOfMessages: 10 }));
    return Messages.map(({ MessageId = '', ReceiptHandle = '', Body = '' }) => ({
      messageId: MessageId,
      receiptHandle: ReceiptHandle,
      body: Body,
    })) as SQSEvent['Records'];
  }

  async function handle(bodies: readonly string[], row: NotificationRow = acceptedRow(), broken = false) {
    for (const MessageBody of bodies) await sqs.send(new SendMessageCommand({ QueueUrl: queue, MessageBody }));
    const tables = new MemoryTables(() => at(1000));
    tables.log.set('log-1', { ...row });
    tables.retryLog.set('log-1#2', recordOf(2, row.send_status === 'SUCCESS' ? undefined : 'NETWORK_TIMEOUT'));
    const metrics = new Metrics({ namespace: 'test' });
    const counted: string[] = [];
    vi.spyOn(metrics, 'addMetric').mockImplementation((name) => {
      counted.push(name);
      return metrics;
    });
    const handler = createHandler(
      {
        rows: broken ? { ...tables.eventRows, read: () => Promise.reject(new Error('throttled')) } : tables.eventRows,
        records: tables.records,
        retries: { send: async () => {} },
        policy: DEFAULT_RETRY_POLICY,
        clock: () => at(1000),
        random: () => 0,
        sqs,
        queue,
      },
      { logger: new Logger({ logLevel: 'SILENT' }), metrics },
    );
    const Records = await receive();
    const { batchItemFailures } = await handler({ Records });
    const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const back = Records.filter(({ messageId }) => failed.has(messageId)).map((record) => record.body);
    for (const name of counted) expect(Object.keys(METRICS)).toContain(name);
    return { back, counted, row: tables.row('log-1') };
  }

  it.each<[string, object, NotificationRow, string[]]>([
    ['a delivery', {}, acceptedRow(), ['DeliveryEvents']],
    ['a delivery of what was uncertain', {}, uncertainRow(), ['DeliveryEvents', 'Reconciled']],
    ['a bounce', BOUNCE, acceptedRow(), ['DeliveryEvents', 'Bounced']],
    ['a complaint', { event: 'Complaint' }, acceptedRow(), ['DeliveryEvents', 'Bounced']],
    ['an event of nobody', { log_id: 'none' }, acceptedRow(), ['IgnoredEvents']],
    ['an event that tells nothing', { event: 'Click' }, acceptedRow(), ['IgnoredEvents']],
  ])('counts %s, and is done with it', async (_, changes, row, expected) => {
    const { back, counted } = await handle([body(changes)], row);
    expect(counted).toEqual(expected);
    expect(back).toEqual([]);
  });

  it('sends what it cannot read to the dead letters, and no other event with it', async () => {
    const { back, row } = await handle(['{}', body()]);
    expect(back).toEqual(['{}']);
    expect(row?.delivered_at).toBe(iso());
    // Visible at once, until SQS moves it.
    expect((await receive()).map((record) => record.body)).toEqual(['{}']);
  });

  it('keeps an event of an attempt under way until that is over', async () => {
    const busy = uncertainRow({ send_status: 'SENDING', claim_until: iso(60_000) });
    const { back, counted } = await handle([body()], busy);
    expect(back).toHaveLength(1);
    expect(counted).toEqual([]);
    expect(await receive()).toEqual([]);
  });

  it('keeps an event that storage refused', async () => {
    expect((await handle([body()], acceptedRow(), true)).back).toHaveLength(1);
  });

  describe('through the deployed rules', () => {
    const tags = { 'ses:configuration-set': 'notification-retry-dev', log_id: 'log-1', attempt: '2' };
    let rules: ReturnType<typeof deployedRules>;
    beforeAll(() => {
      rules = deployedRules();
    });

    it.each(SES_EVENTS.map((one) => [one.name, one] as const))(
      'applies %s once, and lets nobody be named',
      async (_, one) => {
        const bodies = await rules(eventOf(one, tags));
        expect(bodies).toHaveLength(one.retry === null ? 0 : 1);
        expect(bodies.join()).not.toMatch(/private|secret|@/);
        if (one.retry === null) return;
        const { nothing, shows, opened, complained, suppressed, gives_up, retries } = one.retry;
        const before = acceptedRow();
        const { back, row, counted } = await handle(bodies, before);
        expect(back).toEqual([]);
        expect(counted).toContain('DeliveryEvents');
        if (nothing) return expect(row).toEqual(before);
        expect(row?.delivery_by_attempt?.[2]).toBe(shows);
        expect(row?.opened_at !== undefined).toBe(opened ?? false);
        expect(row?.complained_at !== undefined).toBe(complained ?? false);
        expect(row?.suppressed ?? false).toBe(suppressed ?? complained ?? false);
        expect(row?.give_up).toBe(gives_up);
        expect(row?.send_status === 'RETRY' && gives_up === undefined ? row.error_type : undefined).toBe(retries);
      },
    );
  });
});
