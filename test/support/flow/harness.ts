import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  paginateScan,
  QueryCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { RetryJobResult } from '../../../src/batch/retry-job/run-retry-job.ts';
import type { Endpoints } from '../../../src/local/runtime/endpoints-file.ts';
import type { LocalRuntimeOptions } from '../../../src/local/runtime/runtime.ts';
import { synthesize } from '../../../src/local/runtime/synthesize.ts';
import { eventually } from '../local/tiny-app.ts';
import { PROJECT_ROOT } from '../project-root.ts';
import type { FormerVersion } from '../upgrade/former-version.ts';
import { Commands, type Ended } from './commands.ts';

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

type Row = Record<string, unknown>;

/** A request as the simulator lists it. */
export interface ReceivedRequest {
  readonly channel: string;
  readonly log_id?: string;
  readonly accepted: boolean;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A local runtime in its own process, as `npm run local -- --empty` starts it, and a client of it. */
export class Flow {
  readonly directory = mkdtempSync(join(tmpdir(), 'notification-retry-flow-'));
  readonly #workDir = join(this.directory, '.local');
  #commands = new Commands(this.directory);
  #process: ChildProcess | undefined;
  /** Of the running runtime. The next one may listen elsewhere. */
  #dynamodb: DynamoDBClient | undefined;
  #sqs: SQSClient | undefined;

  /**
   * @param settings options of the runtime
   * @param integrations credentials by integration_config_id, in addition to those of the samples
   * @param version runs and commands another version of this project
   */
  async start(
    settings: Pick<
      LocalRuntimeOptions,
      | 'parts'
      | 'dataDir'
      | 'baseIntervalSeconds'
      | 'breaker'
      | 'functionsDynamodb'
      | 'functionsSqs'
      | 'sesLimits'
      | 'corsOrigins'
      | 'console'
    > = {},
    integrations: Row = {},
    version?: FormerVersion,
  ): Promise<void> {
    const root = version?.root ?? PROJECT_ROOT;
    this.#commands = new Commands(this.directory, root);
    mkdirSync(this.#workDir, { recursive: true });
    if (Object.keys(integrations).length > 0) {
      const home = settings.dataDir ?? this.#workDir;
      mkdirSync(home, { recursive: true });
      writeFileSync(join(home, 'secrets.json'), JSON.stringify({ integrations }));
    }
    // The result is kept until a source changes, so all runtimes of the tests share one synthesis.
    const assemblyDir =
      version?.assembly ?? (await synthesize(join(PROJECT_ROOT, '.local'), undefined, undefined, settings.parts));
    const options = { ...settings, assemblyDir, workDir: this.#workDir, schedule: 'off' };
    const script = join(root, 'test', 'support', 'flow', 'run-runtime.ts');
    const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process = child;
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (text: Buffer) => text.includes('ready') && resolve());
      child.once('exit', (code) => reject(new Error(`the runtime ended with ${code}`)));
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#dynamodb?.destroy();
    this.#sqs?.destroy();
    this.#dynamodb = undefined;
    this.#sqs = undefined;
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  /** Stops, and removes all its files. */
  async end(): Promise<void> {
    await this.stop();
    this.remove();
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  get endpoints(): Endpoints {
    return JSON.parse(readFileSync(join(this.#workDir, 'endpoints.json'), 'utf8'));
  }

  /** Runs BATCH-952 in this process. */
  job(...args: string[]): Promise<RetryJobResult> {
    return this.#commands.job(args);
  }

  /** Runs BATCH-952 in a process of its own, as `npm run` does. */
  jobProcess(...args: string[]): Promise<Ended> {
    return this.#commands.jobProcess(args);
  }

  /** Invokes a function as EventBridge does. @param service the folder under functions/ */
  async invoke<T = Row>(service: string, event: object): Promise<T> {
    const { endpoints, functions } = this.endpoints;
    const url = `${endpoints.api}/2015-03-31/functions/${functions[service]}/invocations`;
    return (await fetch(url, { method: 'POST', body: JSON.stringify(event) })).json() as Promise<T>;
  }

  /** Runs an operator's command in this process. */
  ops(...args: string[]): Promise<Ended> {
    return this.#commands.ops(args);
  }

  opsInput(input: string, ...args: string[]): Promise<Ended> {
    return this.#commands.ops(args, input);
  }

  /** Runs an operator's command as a user does. */
  opsProcess(...args: string[]): Promise<Ended> {
    return this.#commands.opsProcess(args);
  }

  async opsJson<T = Row>(...args: string[]): Promise<T> {
    const { stdout, stderr } = await this.ops(...args, '--json');
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  }

  /** Starts an operator's command that the test interrupts. */
  startOps(...args: string[]): ChildProcess {
    return this.#commands.startOps(args);
  }

  /** Puts rows as BATCH-951 does, with the specs' columns only. */
  put(rows: readonly Row[]): Promise<void> {
    return this.#putInto('notification_log', rows);
  }

  putRecords(records: readonly Row[]): Promise<void> {
    return this.#putInto('notification_retry_log', records);
  }

  async #putInto(table: 'notification_log' | 'notification_retry_log', rows: readonly Row[]): Promise<void> {
    await this.#withDynamoDb(async (client, tables) => {
      for (let start = 0; start < rows.length; start += 25) {
        const requests = rows.slice(start, start + 25).map((row) => ({ PutRequest: { Item: marshall(row) } }));
        await client.send(new BatchWriteItemCommand({ RequestItems: { [tables[table]]: requests } }));
      }
    });
  }

  async row(log_id: string): Promise<Row> {
    return this.#withDynamoDb(async (client, { notification_log }) => {
      const { Item } = await client.send(
        new GetItemCommand({ TableName: notification_log, Key: { log_id: { S: log_id } } }),
      );
      return Item ? unmarshall(Item) : {};
    });
  }

  async records(log_id: string): Promise<Row[]> {
    return this.#withDynamoDb(async (client, { notification_retry_log }) => {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: notification_retry_log,
          KeyConditionExpression: 'original_log_id = :id',
          ExpressionAttributeValues: { ':id': { S: log_id } },
        }),
      );
      return Items.map((item) => unmarshall(item));
    });
  }

  /** As a restoration leaves a log: its rows, in a table of another name. @returns how many */
  async copyLog(TableName: string): Promise<number> {
    const rows = await this.rows();
    const key = 'log_id';
    await this.#withDynamoDb(async (client) => {
      await client.send(
        new CreateTableCommand({
          TableName,
          BillingMode: 'PAY_PER_REQUEST',
          KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
          AttributeDefinitions: [{ AttributeName: key, AttributeType: 'S' }],
        }),
      );
      for (const row of rows) await client.send(new PutItemCommand({ TableName, Item: marshall(row) }));
    });
    return rows.length;
  }

  async loseLog(isLost: (log_id: string) => boolean): Promise<void> {
    const lost = (await this.rows()).map(({ log_id }) => String(log_id)).filter(isLost);
    await this.#withDynamoDb(async (client, { notification_log: TableName }) => {
      for (const log_id of lost)
        await client.send(new DeleteItemCommand({ TableName, Key: { log_id: { S: log_id } } }));
    });
  }

  /** All rows of NotificationLog. */
  async rows(): Promise<Row[]> {
    return this.#withDynamoDb(async (client, { notification_log }) => {
      const rows: Row[] = [];
      for await (const { Items = [] } of paginateScan({ client }, { TableName: notification_log }))
        rows.push(...Items.map((item) => unmarshall(item)));
      return rows;
    });
  }

  /** The content of all tables, as text. */
  async dump(): Promise<string> {
    return this.#withDynamoDb(async (client, tables) => {
      const all = [];
      for (const TableName of Object.values(tables))
        all.push((await client.send(new ScanCommand({ TableName }))).Items);
      return JSON.stringify(all);
    });
  }

  /** Starts or ends an outage of the simulated receivers whose path begins with `path`. */
  async receiver(path: string, state: 'down' | 'up'): Promise<void> {
    await fetch(this.at(`/_down${path}`), { method: state === 'down' ? 'PUT' : 'DELETE' });
  }

  async received(query = ''): Promise<ReceivedRequest[]> {
    const answer = await fetch(this.at(`/_received?${query}`));
    return (await answer.json()) as ReceivedRequest[];
  }

  /** The address of a simulated receiver. */
  at(path: string): string {
    return `${this.endpoints.endpoints.simulator}${path}`;
  }

  /** A failed webhook, as its writer puts it, to a receiver that takes it. */
  webhook(log_id: string, changes: Row = {}): Row {
    return {
      log_id,
      tenant_id: 'TENANT001',
      notification_type: 'WEBHOOK',
      recipient_address: this.at(`/webhook/ok/${log_id}`),
      message_body: `本文 ${log_id}`,
      send_status: 'FAILED',
      ...changes,
    };
  }

  /** Waits until the row has this send_status, at most half a minute. */
  until(log_id: string, send_status: string): Promise<string> {
    const read = async () => ((await this.row(log_id))['send_status'] === send_status ? send_status : undefined);
    return eventually(read, 30_000);
  }

  /** How many times a simulated receiver took the notification. */
  async accepted(log_id: string): Promise<number> {
    return (await this.received(`log_id=${log_id}`)).filter(({ accepted }) => accepted).length;
  }

  async deadLetters(channel: 'email' | 'slack' | 'teams' | 'webhook'): Promise<number> {
    return this.#withSqs(async (client) => {
      const QueueUrl = this.endpoints.queues[channel].dead_letter;
      const { Attributes } = await client.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] }),
      );
      return Number(Attributes?.['ApproximateNumberOfMessages']);
    });
  }

  /**
   * Does what the console's "redrive to source" does: sends a new message with the old body, then deletes the old one.
   */
  async redrive(channel: 'email' | 'slack' | 'teams' | 'webhook'): Promise<number> {
    const { dead_letter, express, standard } = this.endpoints.queues[channel];
    return this.#withSqs(async (client) => {
      let moved = 0;
      for (;;) {
        const { Messages = [] } = await client.send(
          new ReceiveMessageCommand({ QueueUrl: dead_letter, MaxNumberOfMessages: 10 }),
        );
        if (Messages.length === 0) return moved;
        for (const { Body = '', ReceiptHandle } of Messages) {
          const { priority } = JSON.parse(Body) as { priority: string };
          const source = priority === 'urgent' || priority === 'important' ? express : standard;
          await client.send(new SendMessageCommand({ QueueUrl: source, MessageBody: Body }));
          await client.send(new DeleteMessageCommand({ QueueUrl: dead_letter, ReceiptHandle }));
          moved += 1;
        }
      }
    });
  }

  /** The text of all logs. */
  logs(): string {
    const { logs } = this.endpoints;
    return readdirSync(logs)
      .map((file) => readFileSync(join(logs, file), 'utf8'))
      .join('\n');
  }

  async #withDynamoDb<T>(use: (client: DynamoDBClient, tables: Endpoints['tables']) => Promise<T>): Promise<T> {
    const { endpoints, region, tables } = this.endpoints;
    this.#dynamodb ??= new DynamoDBClient({ endpoint: endpoints.dynamodb, region, credentials: CREDENTIALS });
    return use(this.#dynamodb, tables);
  }

  async #withSqs<T>(use: (client: SQSClient) => Promise<T>): Promise<T> {
    const { endpoints, region } = this.endpoints;
    this.#sqs ??= new SQSClient({ endpoint: endpoints.sqs, region, credentials: CREDENTIALS });
    return use(this.#sqs);
  }
}
