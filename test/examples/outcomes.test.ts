import { App, SecretValue, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import * as v from 'valibot';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  endsOf,
  FAILED_EMAILS,
  invoke,
  newsletterAlarms,
  PROVIDERS,
  postTo,
  sendTo,
  takeIn,
} from '../../examples/outcomes/rules.ts';
import { type BusEvent, handler } from '../../examples/outcomes/sentry.ts';
import { createOutcomeBus } from '../../src/adapters/eventbridge/outcome-bus.ts';
import { batchItemSchema, batchSchema } from '../../src/application/contract/api/intake.ts';
import type { Outcome } from '../../src/core/outcomes/outcome.ts';
import { eventBus, type Publish, postTo as post } from '../../src/local/emulator/events/event-bus.ts';
import { planFrom } from '../../src/local/emulator/template/plan.ts';
import { EventBridgeStandIn } from '../../src/local/stand-ins/eventbridge.ts';
import { type Loopback, startLoopback } from '../support/loopback.ts';

const sent: [string, unknown][] = [];
const deliveries: Promise<void>[] = [];
let receiver: Loopback;
let bus: EventBridgeStandIn;
let publish: Publish;

beforeAll(async () => {
  receiver = await startLoopback();
  const stack = new Stack(new App(), 'Recipes');
  const told = new EventBus(stack, 'Told', { eventBusName: 'told' });
  const orders = new EventBus(stack, 'Orders', { eventBusName: 'orders' });
  const failures = new Queue(stack, 'Failures');
  const key = SecretValue.unsafePlainText('Bearer k');
  const code = Code.fromInline('exports.handler = async () => {}');
  const called = new LambdaFunction(stack, 'Called', { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code });
  // As https in an account; EventBridge refuses http.
  const at = (path: string) => ({ url: `${receiver.url.replace('http:', 'https:')}/${path}`, key, failures });
  postTo(stack, 'Webhook', { bus: told, pattern: endsOf('T1'), receiver: at('told') });
  sendTo(stack, 'ToQueue', told, new Queue(stack, 'Inbox', { queueName: 'inbox' }));
  invoke(stack, 'ToFunction', { bus: told, pattern: PROVIDERS, called });
  invoke(stack, 'Failed', { bus: told, pattern: FAILED_EMAILS, called });
  invoke(stack, 'Alarms', { bus: undefined, pattern: newsletterAlarms('dev'), called });
  takeIn(stack, 'TakeIn', { bus: orders, pattern: { source: ['orders'] }, api: at('v1/notifications/batch') });
  const { Resources: resources } = Template.fromStack(stack).toJSON();
  const place = { region: 'us-east-1', accountId: '000000000000', sqsEndpoint: 'http://sqs' };
  const plan = planFrom({ name: 'Recipes', directory: '.', resources, parameters: {}, outputs: {} }, place);
  publish = eventBus(
    plan.eventRules,
    async (target, body) => {
      if (target.kind === 'http') return post({ ...target, url: target.url.replace('https:', 'http:') }, body);
      sent.push([target.kind, JSON.parse(body)]);
    },
    expect.fail,
    [],
  );
  bus = new EventBridgeStandIn((event, name) => {
    const published = publish(event, name);
    deliveries.push(published);
    return published;
  });
});
afterAll(() => receiver.close());
beforeEach(() => {
  receiver.answer = (response) => response.writeHead(200).end();
  sent.length = 0;
  receiver.received.length = 0;
});

/** Puts outcomes on the bus as the function does. */
async function tell(...outcomes: Outcome[]) {
  const answers = (command: { input: object }) =>
    bus.answer('AWSEvents.PutEvents', JSON.stringify(command.input)).value;
  const client = { send: async (command: { input: object }) => answers(command) } as never;
  expect(await createOutcomeBus(client, 'told').put(outcomes)).toEqual(outcomes.map(() => true));
  await Promise.all(deliveries);
}

const outcome = (kind: Outcome['kind'], detail: Partial<Outcome['detail']>): Outcome => ({
  kind,
  detail: { version: 1, event_id: 'e', at: '2026-03-01T10:30:00.000Z', ...detail },
});

describe('the recipes', () => {
  it('tell a producer of its own notifications by a webhook with its key, and a queue of everything', async () => {
    const own = outcome('Notification Delivered', { tenant_id: 'T1', log_id: 'n1' });
    await tell(own, outcome('Notification Delivered', { tenant_id: 'T2', log_id: 'n2' }));
    expect(receiver.received.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([['/told', own.detail]]);
    expect(receiver.received[0]?.headers['authorization']).toBe('Bearer k');
    expect(sent).toMatchObject([
      ['queue', { source: 'notification-retry', 'detail-type': 'Notification Delivered', detail: own.detail }],
      ['queue', { detail: { log_id: 'n2' } }],
    ]);
  });

  it('tell a function which providers are down', async () => {
    await tell(outcome('Provider Down', { provider: 'slack#INT1', status: 'open' }));
    expect(sent.map(([kind]) => kind).sort()).toEqual(['function', 'queue']);
  });

  describe('report to Sentry', () => {
    const reported = async (status = 200) => {
      receiver.answer = (response) => response.writeHead(status).end();
      process.env['SENTRY_DSN'] = receiver.url.replace('http://', 'http://key@').concat('/42');
      const [, event] = sent.find(([kind]) => kind === 'function') ?? [];
      await handler(event as BusEvent);
      const [request] = receiver.received;
      const lines = request?.body.trim().split('\n') ?? [];
      const [envelope, item, payload] = lines.map((line) => JSON.parse(line));
      expect(item).toEqual({ type: 'event' });
      expect(envelope.event_id).toBe(payload.event_id);
      return { path: request?.path, auth: request?.headers['x-sentry-auth'], payload };
    };
    const alarm = (alarmName: string, value = 'ALARM') => ({
      id: 'c4c1c1c9-6542-e61b-6ef0-8c4d36933a92',
      source: 'aws.cloudwatch',
      'detail-type': 'CloudWatch Alarm State Change',
      time: '2026-03-01T10:30:00Z',
      detail: { alarmName, configuration: { description: 'A newsletter was not sent' }, state: { value } },
    });

    it('an email that failed, under the id of its outcome, and no other', async () => {
      const event_id = '5d3f0c6f1f7c4c2f9d6a8e0b1c2d3e4f';
      await tell(outcome('Email Ended', { event_id, email_id: 'e-1', status: 'failed' }));
      expect(await reported()).toMatchObject({
        path: '/api/42/envelope/',
        auth: expect.stringContaining('sentry_key=key'),
        payload: { event_id, platform: 'other', level: 'error', message: 'Email e-1 failed' },
      });
      sent.length = 0;
      await tell(outcome('Email Ended', { event_id, email_id: 'e-2', status: 'submitted' }));
      expect(sent.map(([kind]) => kind)).toEqual(['queue']);
    });

    it('an alarm of newsletters that begins to ring, and no other', async () => {
      for (const other of ['notification-retry-dev-oldest-due', 'notification-retry-prod-newsletter-failed'])
        await publish(alarm(other));
      await publish(alarm('notification-retry-dev-newsletter-failed', 'OK'));
      expect(sent).toEqual([]);
      await publish(alarm('notification-retry-dev-newsletter-failed'));
      const { payload } = await reported();
      expect(payload).toMatchObject({
        event_id: 'c4c1c1c96542e61b6ef08c4d36933a92',
        message: 'notification-retry-dev-newsletter-failed: A newsletter was not sent',
      });
    });

    it('again what Sentry did not take', async () => {
      await publish(alarm('notification-retry-dev-newsletter-failed'));
      await expect(reported(429)).rejects.toThrow('Sentry answers 429');
    });
  });

  it('make a notification of an event of the producer, which the API takes, once', async () => {
    const Detail = JSON.stringify({
      order_id: 'o-1',
      callback_url: 'https://a.example/hook',
      message: 'It is "ready".',
    });
    const Entries = [{ EventBusName: 'orders', Source: 'orders', DetailType: 'Order Ready', Detail }];
    const { value } = bus.answer('AWSEvents.PutEvents', JSON.stringify({ Entries }));
    await Promise.all(deliveries);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/v1/notifications/batch']);
    const { notifications } = v.parse(batchSchema, JSON.parse(receiver.received[0]?.body ?? ''));
    const [{ EventId }] = (value as { Entries: [{ EventId: string }] }).Entries;
    expect(v.parse(batchItemSchema, notifications[0])).toMatchObject({
      idempotency_key: EventId,
      channel: 'webhook',
      recipient: 'https://a.example/hook',
      body: 'It is "ready".',
      notification_id: 'o-1',
    });
  });
});
