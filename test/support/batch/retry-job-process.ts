import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { CHANNELS, LANES } from '../../../src/core/model/channels.ts';
import { startTestDynamoDb } from '../dynamodb.ts';
import { type Loopback, replying, startLoopback } from '../loopback.ts';
import { PROJECT_ROOT } from '../project-root.ts';
import { dueRow } from '../rows.ts';
import { createTables } from '../tables.ts';

const COMMAND = join(PROJECT_ROOT, 'src', 'batch', 'notification-retry.ts');

interface EndedJob {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunningJob {
  readonly process: ChildProcess;
  /** The text on stderr so far. */
  readonly stderr: () => string;
  readonly ended: Promise<EndedJob>;
}

/** Storage and queues like those of a local runtime, without the functions: dispatched notifications stay unsettled. */
export interface IdleRuntime {
  /** Stands in for the API of the runtime. By default it answers that all rows are indexed. */
  readonly api: Loopback;
  put(...log_ids: string[]): Promise<void>;
  /** Messages in the lane of normal webhooks. */
  queued(): Promise<number>;
  /** Runs the job with `--local`. */
  run(...args: string[]): RunningJob;
  /** From now on SQS tells how many messages a lane has, and takes none. */
  refuseMessages(): void;
  /** From now on DynamoDB never answers a job. */
  silenceStorage(): void;
  stop(): Promise<void>;
}

export async function startIdleRuntime(): Promise<IdleRuntime> {
  const directory = mkdtempSync(join(tmpdir(), 'notification-retry-job-'));
  const [dynamodb, sqsServer, api] = await Promise.all([
    startTestDynamoDb(),
    startFauxqs({ port: 0, logger: false }),
    startLoopback(),
  ]);
  api.answer = replying(200, '{"caught_up":true}');
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const sqs = new SQSClient({
    endpoint: sqsServer.address,
    region: 'us-east-1',
    credentials,
    useQueueUrlAsEndpoint: false,
  });
  const tables = await createTables(dynamodb.client, 'job');
  const urls = new Map<string, string>();
  for (const name of CHANNELS.flatMap((channel) => [...LANES, 'dead_letter'].map((queue) => `${channel}-${queue}`))) {
    urls.set(name, (await sqs.send(new CreateQueueCommand({ QueueName: name }))).QueueUrl ?? '');
  }
  const queuesOf = (channel: string) =>
    Object.fromEntries([...LANES, 'dead_letter'].map((queue) => [queue, urls.get(`${channel}-${queue}`)]));
  const limits = { urgent: 1, important: 1, normal: 1, info: 1 };
  mkdirSync(join(directory, '.local'));
  const writeEndpoints = (storage: string, queues = sqsServer.address) => {
    const content = {
      pid: process.pid,
      region: 'us-east-1',
      endpoints: { dynamodb: storage, sqs: queues, api: api.url },
      tables,
      queues: Object.fromEntries(CHANNELS.map((channel) => [channel, queuesOf(channel)])),
      stack: {
        SweepIntervalSeconds: '3600',
        RetryPolicy: JSON.stringify({ base_interval_seconds: 300, max_retries: limits, retention_hours: limits }),
        NewsletterQueues: JSON.stringify({ prepare: 'http://127.0.0.1:9/prepare', send: 'http://127.0.0.1:9/send' }),
      },
      secrets_file: join(directory, 'secrets.json'),
    };
    writeFileSync(join(directory, '.local', 'endpoints.json'), JSON.stringify(content));
  };
  writeEndpoints(dynamodb.endpoint);
  const jobs: ChildProcess[] = [];
  return {
    api,
    async put(...log_ids) {
      for (const log_id of log_ids) {
        const Item = toItem({ ...dueRow({ log_id }) });
        await dynamodb.client.send(new PutItemCommand({ TableName: tables.notification_log, Item }));
      }
    },
    async queued() {
      const { Attributes } = await sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: urls.get('webhook-standard'),
          AttributeNames: ['ApproximateNumberOfMessages'],
        }),
      );
      return Number(Attributes?.['ApproximateNumberOfMessages']);
    },
    run(...args) {
      const child = spawn(process.execPath, [COMMAND, '--local', ...args], {
        cwd: directory,
        // Colour libraries then take a pipe for a terminal. The job must print no colours all the same.
        env: { ...process.env, NO_COLOR: undefined, CI: '1', FORCE_COLOR: '1' },
      });
      jobs.push(child);
      const output = { stdout: '', stderr: '' };
      child.stdout.on('data', (text: Buffer) => {
        output.stdout += text.toString();
      });
      child.stderr.on('data', (text: Buffer) => {
        output.stderr += text.toString();
      });
      return {
        process: child,
        stderr: () => output.stderr,
        ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, ...output }))),
      };
    },
    refuseMessages() {
      writeEndpoints(dynamodb.endpoint, api.url);
      api.answer = (response, request) => {
        const counted = String(request.headers['x-amz-target']).endsWith('GetQueueAttributes');
        if (request.path === '/_caught_up') replying(200, '{"caught_up":true}')(response, request);
        else if (counted) replying(200, '{"Attributes":{"ApproximateNumberOfMessages":"0"}}')(response, request);
        else replying(400, '{"__type":"com.amazonaws.sqs#OverLimit","message":"full"}')(response, request);
      };
    },
    silenceStorage() {
      writeEndpoints(api.url);
      api.answer = (response, request) => {
        if (request.path === '/_caught_up') replying(200, '{"caught_up":true}')(response, request);
      };
    },
    async stop() {
      for (const job of jobs) job.kill('SIGKILL');
      sqs.destroy();
      await Promise.all([dynamodb.stop(), sqsServer.stop(), api.close()]);
      rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
