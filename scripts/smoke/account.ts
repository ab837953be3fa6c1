import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SQSClient } from '@aws-sdk/client-sqs';
import { toForeignRow, toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { STACK } from './stack.ts';
import { type PutAnswer, WRITER_OUTPUT } from './writer.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const POLL_MS = 2_000;

type Row = Readonly<Record<string, unknown>>;

/** The deployed stack, as the checks of the smoke test reach it. */
export interface SmokeAccount {
  readonly dynamodb: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly outputs: Readonly<Record<string, string>>;
  put(row: Row): Promise<void>;
  row(log_id: string): Promise<Row | undefined>;
  /** Waits until the row is as wanted, within a limit in seconds. */
  rowWhen(log_id: string, seconds: number, isWanted: (row: Row) => boolean): Promise<Row>;
  /** Puts the row with the rights that the runbook gives to writers. */
  putAsWriter(row: Row): Promise<PutAnswer>;
  /** Runs the dispatcher with the options of its event. */
  sweep(options?: object): Promise<Row>;
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

/** Runs `cdk deploy` or `cdk destroy` for the stage of the smoke test. */
export function cdk(command: 'deploy' | 'destroy', sender: string): void {
  const confirmed = command === 'deploy' ? ['--require-approval', 'never'] : ['--force'];
  const args = [
    'cdk',
    command,
    '--app',
    'node --import tsx scripts/smoke-app.ts',
    '-c',
    `sender=${sender}`,
    ...confirmed,
  ];
  const { status } = spawnSync('npx', args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`cdk ${command} ended with ${status}`);
}

export async function openAccount(): Promise<SmokeAccount> {
  const stack = await describeStack(STACK);
  const outputs = Object.fromEntries(
    (stack?.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]),
  );
  const dynamodb = new DynamoDBClient({});
  const lambda = new LambdaClient({});
  const invoke = async (output: string, event: object) => {
    const { Payload, FunctionError } = await lambda.send(
      new InvokeCommand({ FunctionName: outputs[output], Payload: JSON.stringify(event) }),
    );
    const answer = Payload?.transformToString() ?? '{}';
    if (FunctionError) throw new Error(`the function of output ${output} failed: ${answer}`);
    return JSON.parse(answer);
  };
  const TableName = outputs['NotificationLogTable'] ?? '';
  const account: SmokeAccount = {
    dynamodb,
    sqs: new SQSClient({}),
    outputs,
    async put(row) {
      await dynamodb.send(new PutItemCommand({ TableName, Item: toItem(row) }));
    },
    async row(log_id) {
      const key = { log_id: { S: log_id } };
      const { Item } = await dynamodb.send(new GetItemCommand({ TableName, Key: key, ConsistentRead: true }));
      return Item && toForeignRow(Item);
    },
    async rowWhen(log_id, seconds, isWanted) {
      const deadline = Date.now() + seconds * 1_000;
      for (;;) {
        const row = await account.row(log_id);
        if (row && isWanted(row)) return row;
        if (Date.now() > deadline) throw new Error(`after ${seconds} s the row ${log_id} is ${JSON.stringify(row)}`);
        await sleep(POLL_MS);
      }
    },
    putAsWriter: (row) => invoke(WRITER_OUTPUT, toItem(row)),
    sweep: (options = {}) => invoke('DispatcherFunction', options),
  };
  return account;
}

async function describeStack(StackName: string) {
  const { Stacks = [] } = await new CloudFormationClient({}).send(new DescribeStacksCommand({ StackName }));
  return Stacks[0];
}
