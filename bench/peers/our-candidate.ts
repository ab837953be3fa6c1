import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  DeleteMessageBatchCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';
import { PRIORITY_POLICY } from '../../src/core/model/retry-policy.ts';
import { sqsEvent } from '../../src/local/emulator/sources/sqs-event.ts';
import { LOCAL_REGION } from '../../src/local/emulator/template/references.ts';
import { SAMPLE_INTEGRATIONS } from '../../src/local/runtime/secrets-file.ts';
import { bundle, type MeasuredFunction, tableNames } from '../setup/function.ts';
import { eventsFor, type Queue, standardLane } from '../setup/lanes.ts';
import { dueAgain, putAll, seedDue } from '../setup/rows.ts';
import type { World } from '../setup/world.ts';
import { type Candidate, CONCURRENCY, PATIENCE_SECONDS, type RunningWorker } from './rounds.ts';

/** Half a second: an answer of 503 is retried after one to two seconds, as by the peers. */
const RETRY_POLICY = JSON.stringify({
  base_interval_seconds: 0.5,
  max_retries: { urgent: 100, important: 100, normal: 100, info: 100 },
  retention_hours: Object.fromEntries(
    Object.entries(PRIORITY_POLICY).map(([priority, { retention_ms }]) => [priority, retention_ms / 3_600_000]),
  ),
});
const ENVIRONMENT = { RETRY_POLICY, CLAIM_SECONDS: String(PATIENCE_SECONDS), SEND_TIMEOUT_SECONDS: '2' };

/** The secret by which the world's webhooks are signed. */
export function webhookSecret(world: World): string {
  const { integrations } = JSON.parse(readFileSync(world.secretsFile, 'utf8')) as {
    readonly integrations: Readonly<Record<string, { readonly secrets?: readonly string[] }>>;
  };
  const [secret] = integrations[SAMPLE_INTEGRATIONS.webhook]?.secrets ?? [];
  if (secret === undefined) throw new Error(`${world.secretsFile} has no secret for webhooks`);
  return secret;
}

/** The deployed send-webhook, with the calls that Lambda makes for it in this process. */
export async function ourCandidate(
  world: World,
  { count, url, body, servers }: { count: number; url: string; body: string; servers: readonly number[] },
): Promise<Candidate> {
  const { sqs } = world.clients;
  const lane = standardLane(world, 'send-webhook');
  const QueueUrl = lane.url;
  const VisibilityTimeout = String(PATIENCE_SECONDS + 1);
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout } }));
  const shape = { channel: 'webhook', recipient: url, body, integration: SAMPLE_INTEGRATIONS.webhook } as const;
  const items = await seedDue(world, count, shape);
  const dispatcher = await world.start('dispatcher');
  const sweep = () => dispatcher.run([{}]);
  let [pass, before] = [0, 0];
  return {
    name: 'ours',
    servers,
    async enqueue() {
      before = await countRecords(world);
      await sqs.send(new PurgeQueueCommand({ QueueUrl }));
      await putAll(world, tableNames(world).notification_log, dueAgain(items, pass++));
      await sendAll(world, QueueUrl, eventsFor(items as Item[], lane.arn, CONCURRENCY));
    },
    async start(profiles) {
      const fn = await world.start('send-webhook', {
        environment: ENVIRONMENT,
        // The names of the sources, by which the profile is divided, stand in a text that is not minified.
        ...(profiles !== undefined && {
          bundle: await bundle('functions/send-webhook/handler.ts', profiles, { minify: false }),
          nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-name=worker.cpuprofile'],
        }),
      });
      return runLane(world, lane, fn, sweep);
    },
    records: async () => (await countRecords(world)) - before,
  };
}

async function countRecords(world: World): Promise<number> {
  const TableName = tableNames(world).notification_retry_log;
  let records = 0;
  let next: Item | undefined;
  do {
    const page = await world.clients.dynamodb.send(
      new ScanCommand({ TableName, Select: 'COUNT', ...(next && { ExclusiveStartKey: next }) }),
    );
    records += page.Count ?? 0;
    next = page.LastEvaluatedKey;
  } while (next !== undefined);
  return records;
}

async function sendAll(world: World, QueueUrl: string, events: readonly SQSEvent[]): Promise<void> {
  for (const { Records } of events) {
    const Entries = Records.map(({ body }, i) => ({ Id: String(i), MessageBody: body, MessageGroupId: 'TENANT001' }));
    await world.clients.sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  }
}

/** Milliseconds without a message after which a sweep looks for what deaths have left, as the schedule does. */
const SWEEP_AFTER_MS = 4_000;

function runLane(
  world: World,
  { url: QueueUrl, arn }: Queue,
  fn: MeasuredFunction,
  sweep: () => Promise<unknown>,
): RunningWorker {
  let running = true;
  let cpu_us = 0;
  let handledAt = Date.now();
  const step = async () => {
    const receive = { QueueUrl, MaxNumberOfMessages: CONCURRENCY, MessageSystemAttributeNames: ['All' as const] };
    const { Messages = [] } = await world.clients.sqs.send(new ReceiveMessageCommand(receive));
    if (Messages.length === 0) {
      if (Date.now() - handledAt > SWEEP_AFTER_MS) await sweep();
      return pause(50);
    }
    handledAt = Date.now();
    const { results, cpu_us: used } = await fn.run([sqsEvent(Messages, arn, LOCAL_REGION)]);
    cpu_us += used;
    const failures = results.flatMap((result) => (result as SQSBatchResponse | null)?.batchItemFailures ?? []);
    const failed = new Set(failures.map(({ itemIdentifier }) => itemIdentifier));
    const done = Messages.filter(({ MessageId }) => !failed.has(MessageId ?? ''));
    if (done.length === 0) return;
    const Entries = done.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
    await world.clients.sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  };
  const loop = (async () => {
    while (running) await step();
  })().catch((error: unknown) => {
    if (running) throw error;
  });
  loop.catch(() => {});
  const end = async (how: () => Promise<void>) => {
    running = false;
    await how();
    await loop;
  };
  return {
    cpu: () => cpu_us / 1000,
    kill: () => end(() => fn.kill()),
    stop: async () => {
      running = false;
      await loop;
      await fn.stop();
    },
  };
}
