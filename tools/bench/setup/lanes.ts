import { randomUUID } from 'node:crypto';
import { DeleteMessageBatchCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import { groupsOf } from '../../../src/core/model/collections.ts';
import { sqsEvent } from '../../../src/local/emulator/sources/sqs-event-source.ts';
import type { QueueMappingPlan } from '../../../src/local/emulator/template/event-sources.ts';
import { LOCAL_ACCOUNT, LOCAL_REGION } from '../../../src/local/emulator/template/references.ts';
import { SAMPLE_INTEGRATIONS } from '../../../src/local/runtime/secrets-file.ts';
import { queueUrl } from '../../../src/local/stand-ins/tables-and-queues.ts';
import { expectNoFailures, type MeasuredFunction, tableNames, variableOf } from './function.ts';
import { bodyOf, dueAgain, putAll, seedDue } from './rows.ts';
import type { World } from './world.ts';

/** The standard lane of a channel, which takes `normal` notifications. */
export function standardLane(world: World, service: string): Queue {
  const lanes: Record<string, { standard?: unknown }> = JSON.parse(variableOf(world.planOf(service), 'LANE_QUEUES'));
  const url = String(lanes[service.replace('send-', '')]?.standard);
  return queueAt(world, url.split('/').at(-1) ?? '');
}

export function queueAt(world: World, name: string) {
  return { url: queueUrl(world.services.sqs, name), arn: `arn:aws:sqs:${LOCAL_REGION}:${LOCAL_ACCOUNT}:${name}` };
}

export type Queue = ReturnType<typeof queueAt>;

/** How Lambda reads the standard lane of a channel. */
export function standardMapping(world: World, service: string): QueueMappingPlan {
  const { arn } = standardLane(world, service);
  const mapping = world.plan.queueMappings.find(({ sourceArn }) => sourceArn === arn);
  if (mapping === undefined) throw new Error(`${arn} has no event source mapping`);
  return mapping;
}

/**
 * Gives a queue's messages to a function until the queue is empty, with the requests that Lambda makes: one receive and
 * one delete per batch. The last receive finds nothing and is counted, too.
 * @returns the number of handled messages, and what they took
 * @throws Error when the function reports a failed message
 */
export async function drain(client: SQSClient, { url: QueueUrl, arn }: Queue, fn: MeasuredFunction, batchSize = 1) {
  const times_ms: number[] = [];
  for (let [handled, cpu_us] = [0, 0]; ; ) {
    const receive = { QueueUrl, MaxNumberOfMessages: batchSize, MessageSystemAttributeNames: ['All' as const] };
    const { Messages = [] } = await client.send(new ReceiveMessageCommand({ ...receive, WaitTimeSeconds: 0 }));
    if (Messages.length === 0) return { handled, cpu_us, times_ms };
    const work = await fn.run([sqsEvent(Messages, arn, LOCAL_REGION)]);
    expectNoFailures(work.results);
    cpu_us += work.cpu_us;
    times_ms.push(...work.times_ms);
    const Entries = Messages.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
    await client.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
    handled += Messages.length;
  }
}

/** Events for due rows as the sweep would queue them, for benchmarks that measure the function without a queue. */
export function eventsFor(items: readonly Item[], queueArn: string, batchSize: number): SQSEvent[] {
  const messages = items.map((item) => {
    const text = (name: string) => item[name]?.S ?? '';
    const named = { log_id: text('log_id'), tenant_id: text('tenant_id') };
    const routed = { channel: text('channel'), priority: text('priority'), due: text('work_at') };
    return { version: 1, ...named, ...routed, run_id: 'sweep-bench' };
  });
  return groupsOf(messages, batchSize).map((some) => eventOf(some, queueArn));
}

/** Lambda's event for messages that are received for the first time. */
export function eventOf(bodies: readonly object[], queueArn: string): SQSEvent {
  const now = String(Date.now());
  const messages = bodies.map((body) => ({
    MessageId: randomUUID(),
    ReceiptHandle: randomUUID(),
    Body: JSON.stringify(body),
    Attributes: {
      ApproximateReceiveCount: '1',
      SenderId: 'bench',
      SentTimestamp: now,
      ApproximateFirstReceiveTimestamp: now,
    },
  }));
  return sqsEvent(messages, queueArn, LOCAL_REGION);
}

/** Webhooks per batch where no case says otherwise: the express lane's. The standard lane has 25. */
export const BATCH = 10;

/** Conditions under which webhooks are delivered. */
export interface Conditions {
  readonly name: string;
  /** The receiver's path. */
  readonly path: '/ok' | '/slow/ok' | '/flaky/ok';
  readonly tenants: number;
}

/**
 * Notifications that can be delivered again and again.
 * @returns a pass, which makes them due and delivers them. What the receiver refused is made due, and delivered, once more.
 * It answers with microseconds of CPU per delivered notification, and throws when the receiver did not get what it should
 */
export async function webhookPasses(world: World, count: number, { name, path, tenants }: Conditions) {
  const { receiver } = world;
  const shape = { recipient: `${receiver.url}${path}`, body: bodyOf(1024), integration: SAMPLE_INTEGRATIONS.webhook };
  const items = await seedDue(world, count, { channel: 'webhook', ...shape, tenants });
  const { arn } = standardLane(world, 'send-webhook');
  let pass = 0;
  const deliver = async (fn: MeasuredFunction, due: readonly Item[]) => {
    await putAll(world, tableNames(world).notification_log, dueAgain(due, pass++));
    const before = receiver.count();
    const { results, cpu_us } = await fn.run(eventsFor(due, arn, BATCH));
    expectNoFailures(results);
    const sent = receiver.count() - before;
    if (sent !== due.length) throw new Error(`${name}: ${sent} posts were received, ${due.length} expected`);
    return cpu_us;
  };
  return async (fn: MeasuredFunction): Promise<number> => {
    receiver.reset();
    const first = await deliver(fn, items);
    const refused = items.filter(({ log_id }) => receiver.refused().has(log_id?.S ?? ''));
    const again = await deliver(fn, refused);
    if (receiver.delivered() !== count) throw new Error(`${name}: ${receiver.delivered()} of ${count} were delivered`);
    return (first + again) / items.length;
  };
}
