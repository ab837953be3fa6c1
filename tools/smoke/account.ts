import { execFile } from 'node:child_process';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { toForeignRow, toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { STACK } from './stack.ts';
import { type PutAnswer, WRITER_OUTPUT } from './writer.ts';

const POLL_MS = 2_000;
const TAKEN_WITHIN_S = 120;

type Row = Readonly<Record<string, unknown>>;

export interface HttpRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: object | string;
}

interface HttpAnswer {
  readonly status: number | undefined;
  readonly body: string;
}

/** The deployed stack, as the checks of the smoke test reach it. */
export interface SmokeAccount {
  readonly dynamodb: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly outputs: Readonly<Record<string, string>>;
  /** A sender that SES knows here. */
  readonly sender: string;
  /** An id that no earlier run used: a stack may be kept, and a retained table has the rows of others. */
  id(name: string): string;
  put(row: Row): Promise<void>;
  row(log_id: string): Promise<Row | undefined>;
  /** Waits until the row is as wanted, within a limit in seconds. */
  rowWhen(log_id: string, seconds: number, isWanted: (row: Row) => boolean): Promise<Row>;
  /** Puts the row with the rights that the runbook gives to writers. */
  putAsWriter(row: Row): Promise<PutAnswer>;
  /** Runs the dispatcher with the options of its event. */
  sweep(options?: object): Promise<Row>;
  /** Invokes the function that an output names. */
  invoke<T>(output: string, event: object): Promise<T>;
  /** Takes the messages of a queue that an output names, until there is a wanted one. */
  taken(what: string, output: string, isWanted: (body: string) => boolean): Promise<unknown>;
  /** What an operator's command prints as JSON. @throws Error with what it says when it fails */
  ops<T>(...args: string[]): Promise<T>;
  /** Asks the intake API. */
  api(path: string, request?: HttpRequest): Promise<HttpAnswer>;
}

/**
 * The account that the environment is signed in to, by the bootstrap stack that every `cdk deploy` needs.
 * @throws Error when that is not the expected account
 */
export async function checkAccount(expected: string): Promise<void> {
  const id = (await describeStack('CDKToolkit'))?.StackId ?? '';
  const account = id.split(':')[4];
  if (account === expected) return;
  throw new Error(
    account === undefined
      ? 'The account has no stack CDKToolkit in this region: run npx cdk bootstrap first.'
      : `You are signed in to account ${account}, but --account says ${expected}.`,
  );
}

/** Asks until there is an answer. @throws Error that names what did not come true in the time */
export async function until<T>(what: string, seconds: number, ask: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = Date.now() + seconds * 1_000;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`within ${seconds} s it did not come true that ${what}`);
    await sleep(POLL_MS);
  }
}

export async function openAccount(sender: string): Promise<SmokeAccount> {
  const stack = await describeStack(STACK);
  const outputs = Object.fromEntries(
    (stack?.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]),
  );
  const run = Date.now().toString(36);
  const endpoint = emulator();
  const dynamodb = new DynamoDBClient({});
  const lambda = new LambdaClient({});
  const TableName = outputs['NotificationLogTable'] ?? '';
  const account: SmokeAccount = {
    dynamodb,
    // By default the client follows a queue's URL, which an emulator makes of a name that resolves to nothing.
    sqs: new SQSClient(endpoint === undefined ? {} : { endpoint }),
    outputs,
    sender,
    id: (name) => `smoke-${run}-${name}`,
    async put(row) {
      await dynamodb.send(new PutItemCommand({ TableName, Item: toItem(row) }));
    },
    async row(log_id) {
      const key = { log_id: { S: log_id } };
      const { Item } = await dynamodb.send(new GetItemCommand({ TableName, Key: key, ConsistentRead: true }));
      return Item && toForeignRow(Item);
    },
    async rowWhen(log_id, seconds, isWanted) {
      let last: Row | undefined;
      const isSo = async () => {
        last = await account.row(log_id);
        return last && isWanted(last) ? last : undefined;
      };
      return until(`the row ${log_id} is as expected`, seconds, isSo).catch((error: Error) => {
        throw new Error(`${error.message}: it is ${JSON.stringify(last)}`);
      });
    },
    putAsWriter: (row) => account.invoke(WRITER_OUTPUT, toItem(row)),
    sweep: (options = {}) => account.invoke('DispatcherFunction', options),
    async invoke(output, event) {
      const { Payload, FunctionError } = await lambda.send(
        new InvokeCommand({ FunctionName: outputs[output], Payload: JSON.stringify(event) }),
      );
      const answer = Payload?.transformToString() ?? '{}';
      if (FunctionError) throw new Error(`the function of output ${output} failed: ${answer}`);
      return JSON.parse(answer);
    },
    taken: (what, output, isWanted) =>
      until(`${what} is in the queue`, TAKEN_WITHIN_S, async () => {
        const QueueUrl = outputs[output];
        const receive = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5, MaxNumberOfMessages: 10 });
        const { Messages = [] } = await account.sqs.send(receive);
        for (const { ReceiptHandle } of Messages) {
          await account.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
        }
        return Messages.some(({ Body = '{}' }) => isWanted(Body));
      }),
    ops: async (...args) => JSON.parse(await ops(...args, '--json')),
    api: (path, request) => ask(`${(outputs['ApiUrl'] ?? '').replace(/\/$/, '')}${path}`, request),
  };
  return account;
}

/** What an operator's command prints, whether it refuses something or not. */
async function ops(...args: string[]): Promise<string> {
  const env = { ...process.env, NOTIFICATION_RETRY_STACK: STACK };
  const command = ['--import', 'tsx', 'src/cli/main.ts', ...args];
  return promisify(execFile)(process.execPath, command, { cwd: PROJECT_ROOT, env }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => {
      if (stdout) return stdout;
      throw new Error(`ops ${args.join(' ')}: ${stderr}`);
    },
  );
}

/** Set where an emulator answers in place of AWS. The host names of APIs resolve to nothing there; it goes by the header. */
const emulator = () => process.env['AWS_ENDPOINT_URL'];

function ask(address: string, { method = 'GET', headers = {}, body }: HttpRequest = {}): Promise<HttpAnswer> {
  // ministack's hosts, such as `id.execute-api.127.0.0.1`, are none that a URL may have.
  const [, host = '', path = ''] = /^https?:\/\/([^/]+)(\/.*)$/.exec(address) ?? [];
  const url = new URL(path, emulator() ?? `https://${host}`);
  const type = typeof body === 'object' ? { 'content-type': 'application/json' } : {};
  const options = { method, headers: { ...type, ...headers, host }, timeout: 30_000 };
  return new Promise((resolve, reject) => {
    const answered = (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode, body: text }));
    };
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, answered);
    request.once('timeout', () => request.destroy(new Error(`${url.pathname} gave no answer`)));
    request.once('error', reject);
    request.end(typeof body === 'object' ? JSON.stringify(body) : body);
  });
}

/** @returns undefined where there is no such stack, which CloudFormation says by an error */
async function describeStack(StackName: string) {
  const { Stacks = [] } = await new CloudFormationClient({})
    .send(new DescribeStacksCommand({ StackName }))
    .catch((error: Error) => {
      if (/does not exist/.test(error.message)) return { Stacks: [] };
      throw error;
    });
  return Stacks[0];
}
