import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetItemCommand, PutItemCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { Deployment } from '../../../src/adapters/deployment/deployment.ts';
import { toForeignRow, toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { createLogHistory } from '../../../src/adapters/metric-history/log-history.ts';
import { runProgram } from '../../../src/cli/program.ts';
import type { CliContext } from '../../../src/cli/session/session.ts';
import { CHANNELS, type Channel, LANES, type Lane } from '../../../src/core/model/channels.ts';
import { historyKeys } from '../../../src/core/model/history-index.ts';
import type { ForeignRow, NotificationRow } from '../../../src/core/model/notification.ts';
import type { QueueMessage } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { startChild } from '../../../src/local/processes/start-child.ts';
import { type Engine, startTestDynamoDb } from '../dynamodb.ts';
import { credentialsOf } from '../memory-secrets.ts';
import { dueRow } from '../rows.ts';
import { sealerOn } from '../sealer.ts';
import { createTables } from '../tables.ts';
import { recordingTerminal, type TerminalScript } from './recording-terminal.ts';

export const HASH_KEY = 'a key for tests';

/** Whose the integrations are. */
const INTEGRATIONS = {
  'ic-new': { tenant_id: 'tenant-1' },
  'ic-others': { tenant_id: 'tenant-2' },
  'ic-every': { tenant_id: '*' },
};

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The operator commands on tables and queues of their own, in this process. */
export type Operations = Awaited<ReturnType<typeof startOperations>>;

/** The stand-ins of this process, which end with it: each file has tables and queues of its own on them. */
const standIns = new Map<Engine | undefined, ReturnType<typeof startStandIns>>();
let worlds = 0;

function startStandIns(engine: Engine | undefined) {
  const logs = mkdtempSync(join(tmpdir(), 'operations-'));
  return Promise.all([startTestDynamoDb(engine), startImpatientSqs(join(logs, 'sqs.log'))]);
}

async function startImpatientSqs(logFile: string) {
  const entry = new URL('impatient-sqs-process.ts', import.meta.url);
  const { ready } = await startChild({ name: 'SQS', entry, args: ['0'], logFile });
  return { endpoint: `http://127.0.0.1:${String(ready['port'])}` };
}

export async function startOperations(engine?: Engine) {
  const directory = mkdtempSync(join(tmpdir(), 'operations-'));
  const own = `ops${++worlds}`;
  const started = standIns.get(engine) ?? startStandIns(engine);
  standIns.set(engine, started);
  const [dynamodb, sqs] = await started;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const region = 'us-east-1';
  const client = new SQSClient({ endpoint: sqs.endpoint, region, credentials, useQueueUrlAsEndpoint: false });
  const queue = async (name: string) => {
    await client.send(new CreateQueueCommand({ QueueName: `${own}-${name}` }));
    return `${sqs.endpoint}/000000000000/${own}-${name}`;
  };
  const lanes = {} as Record<Channel, Record<Lane, string>>;
  const deadLetters = {} as Record<Channel, string>;
  for (const channel of CHANNELS) {
    lanes[channel] = { express: await queue(`${channel}-express`), standard: await queue(`${channel}-standard`) };
    deadLetters[channel] = await queue(`${channel}-dead-letter`);
  }
  const tables = await createTables(dynamodb.client, own);
  const masterKey = randomBytes(32);
  const deployment: Deployment = {
    tables,
    lane_queues: lanes,
    dead_letter_queues: deadLetters,
    newsletter_queues: { prepare: await queue('newsletter-prepare'), send: await queue('newsletter-send') },
    sweep_interval_seconds: 3600,
    retry_policy: DEFAULT_RETRY_POLICY,
    uncertain_minutes: 20,
    batch_concurrency: 7,
    newsletter_configuration_set: 'newsletters',
    recipientHashKey: async () => HASH_KEY,
    sealer: (given) => sealerOn(given, tables, masterKey),
    integrations: async () => credentialsOf(INTEGRATIONS),
    metricHistory: async () => createLogHistory(directory),
    clients: {
      dynamodb: dynamodb.access,
      sqs: { endpoint: sqs.endpoint, region, credentials },
    },
  };
  let serial = 0;

  return {
    deployment,
    dynamodb: dynamodb.client,
    sqs: client,
    tables,
    directory,

    /** Runs a command. The terminal is interactive only if there is an `answer`. */
    async run(args: readonly string[], more: Partial<CliContext> & TerminalScript = {}): Promise<Ended> {
      const { terminal, written } = recordingTerminal(more);
      const code = await runProgram(args, {
        terminal,
        findDeployment: async () => deployment,
        clock: () => new Date(),
        env: {},
        pause: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 50))),
        newId: () => `id-${++serial}`,
        stopped: async () => {},
        interruption: () => ({ signal: new AbortController().signal, exitCode: () => undefined }),
        stateDirectory: join(directory, 'state'),
        ...more,
      });
      return { code, ...written };
    },

    /** The result of a command with `--local --json`. */
    async json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
      const { code, out, err } = await this.run([...args, '--local', '--json']);
      if (code === 2 || out === '') throw new Error(`exit ${code}: ${err}`);
      return JSON.parse(out);
    },

    async put(...rows: readonly ForeignRow[]): Promise<void> {
      await Promise.all(
        rows.map((row) =>
          dynamodb.client.send(new PutItemCommand({ TableName: tables.notification_log, Item: toItem(row) })),
        ),
      );
    },

    async row(log_id: string): Promise<ForeignRow> {
      const { Item } = await dynamodb.client.send(
        new GetItemCommand({
          TableName: tables.notification_log,
          Key: { log_id: { S: log_id } },
          ConsistentRead: true,
        }),
      );
      return Item ? toForeignRow(Item) : {};
    },

    async sendDeadLetter(channel: Channel, body: object | string): Promise<string> {
      const MessageBody = typeof body === 'string' ? body : JSON.stringify(body);
      const { MessageId = '' } = await client.send(
        new SendMessageCommand({ QueueUrl: deadLetters[channel], MessageBody }),
      );
      return MessageId;
    },

    /** Takes every visible message out of a queue. */
    async take(channel: Channel, queueName: Lane | 'dead_letter'): Promise<QueueMessage[]> {
      const QueueUrl = queueName === 'dead_letter' ? deadLetters[channel] : lanes[channel][queueName];
      const taken: QueueMessage[] = [];
      for (;;) {
        const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
        if (Messages.length === 0) return taken;
        for (const { Body = '', ReceiptHandle } of Messages) {
          await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
          if (Body.startsWith('{')) taken.push(JSON.parse(Body));
        }
      }
    },

    /** Takes every visible message out of all lanes. */
    async takeAll(): Promise<QueueMessage[]> {
      const taken = await Promise.all(CHANNELS.flatMap((channel) => LANES.map((lane) => this.take(channel, lane))));
      return taken.flat();
    },

    async stop(): Promise<void> {
      client.destroy();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A row of the pipeline, created a minute ago, with the keys of the history index. */
export function storedRow(
  log_id: string,
  changes: Partial<NotificationRow> & ForeignRow = {},
): NotificationRow & ForeignRow {
  const created = new Date(Date.now() - 60_000);
  const row = dueRow({ log_id, work_at: created.toISOString(), first_attempt_at: created.toISOString(), ...changes });
  return { ...row, ...historyKeys(row, created), updated_at: created.toISOString(), ...changes };
}

/** A row that died half a minute ago. */
export function deadRow(
  log_id: string,
  changes: Partial<NotificationRow> & ForeignRow = {},
): NotificationRow & ForeignRow {
  const priority = changes.priority ?? 'normal';
  return storedRow(log_id, {
    send_status: 'FAILED',
    send_attempts: 6,
    attempts_left: 0,
    last_attempt: 5,
    error_type: 'SERVER_OVERLOAD',
    failure_reason: 'MAX_RETRIES',
    work_queue: workQueueOf('dead', priority, log_id),
    work_at: new Date(Date.now() - 30_000).toISOString(),
    dead_message_id: `dead-${log_id}`,
    dead_run_id: `sweep-${log_id}`,
    ...changes,
  });
}

/** A given-up row without a dead letter. */
export function stoppedRow(log_id: string, failure_reason: NotificationRow['failure_reason'] = 'INVALID_RECIPIENT') {
  const { work_queue: _, dead_message_id: __, dead_run_id: ___, ...row } = deadRow(log_id);
  return { ...row, ...(failure_reason && { failure_reason }) };
}

/**
 * Lets `ops --local` in the directory find them, as a local runtime does. The stream, which makes a write ten times as slow,
 * is off.
 */
export async function announceAsRuntime({ dynamodb, directory, deployment }: Operations): Promise<void> {
  const { clients, tables, lane_queues, dead_letter_queues, newsletter_queues } = deployment;
  const StreamSpecification = { StreamEnabled: false };
  await dynamodb.send(new UpdateTableCommand({ TableName: tables.notification_log, StreamSpecification }));
  const limits = { urgent: 10, important: 7, normal: 5, info: 3 };
  const [db, sqs] = [clients.dynamodb.endpoint, clients.sqs.endpoint];
  const announced = {
    pid: process.pid,
    region: clients.sqs.region,
    tables,
    secrets_file: join(directory, 'secrets.json'),
    endpoints: { dynamodb: db, sqs, api: sqs },
    queues: Object.fromEntries(
      CHANNELS.map((channel) => [channel, { ...lane_queues[channel], dead_letter: dead_letter_queues[channel] }]),
    ),
    stack: {
      SweepIntervalSeconds: '3600',
      RetryPolicy: JSON.stringify({ base_interval_seconds: 300, max_retries: limits, retention_hours: limits }),
      NewsletterQueues: JSON.stringify(newsletter_queues),
    },
  };
  mkdirSync(join(directory, '.local'));
  writeFileSync(join(directory, '.local', 'endpoints.json'), JSON.stringify(announced));
}
