import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { invoke, PROVIDERS, sendTo } from '../../examples/outcomes/rules.ts';
import { writerPolicy } from '../../tools/smoke/writer.ts';
import { synthesizeForEmulator } from '../support/emulator/assembly.ts';
import { MINUTES } from '../support/emulator/deploy.ts';
import { type DeployedStack, STACK, stackOn } from '../support/emulator/deployed-stack.ts';
import { ACCOUNT, type Credentials, type Ministack, startMinistack } from '../support/emulator/ministack.ts';
import type { Outputs } from '../support/emulator/resources.ts';
import { foreignRow } from '../support/emulator/rows.ts';
import { outputOf } from '../support/emulator/run-command.ts';
import { until } from '../support/emulator/until.ts';
import { createUser } from '../support/emulator/users.ts';
import { type Loopback, startLoopback } from '../support/loopback.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const README = readFileSync(join(PROJECT_ROOT, 'examples', 'outcomes', 'README.md'), 'utf8');
const block = (language: string) => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(README)?.[1] ?? '';

const arn = (table: string) => `arn:aws:dynamodb:us-east-1:${ACCOUNT}:table/${table}`;
const KEY = 'AttributeName=order_id';
const ORDERS = `--billing-mode PAY_PER_REQUEST --key-schema ${KEY},KeyType=HASH --attribute-definitions ${KEY},AttributeType=S`;

/** A part of the stage is enough: its template is made and uploaded as any. */
const PARTS = { channels: '["webhook"]', newsletters: 'false', monitoring: 'off' };

/** Terraform finds its provider by its own settings, such as `TF_CLI_ARGS_init=-plugin-dir=DIRECTORY`. */
const TERRAFORM_ENV = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value = '']) => (name.startsWith('TF_') ? [[name, value]] : [])),
);

/** The directory of the recipe with its provider, or why there is none. */
function terraformDirectory(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'notification-retry-terraform-'));
  writeFileSync(join(directory, 'main.tf'), block('hcl').replace('notification-retry-prod', STACK));
  const { status, stderr } = spawnSync('terraform', ['init', '-input=false'], { cwd: directory, encoding: 'utf8' });
  if (status === 0) return directory;
  process.stdout.write(`The recipe for Terraform is skipped: ${stderr || 'there is no `terraform` in the PATH'}\n`);
  return undefined;
}
const TERRAFORM = terraformDirectory();

/** The rules of the recipe that need no API destination, which the emulator's CloudFormation does not make. */
function rulesTemplate(): object {
  const rules = new Stack(new App(), 'Rules');
  const bus = new EventBus(rules, 'Told', { eventBusName: 'told' });
  sendTo(rules, 'ToQueue', bus, new Queue(rules, 'Inbox', { queueName: 'inbox' }));
  const code = Code.fromInline("exports.handler = async ({ detail }) => console.log('told of ' + detail.provider)");
  const called = new LambdaFunction(rules, 'Called', {
    functionName: 'called',
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code,
  });
  invoke(rules, 'ToFunction', { bus, pattern: PROVIDERS, called });
  const { Parameters: _, Rules: __, ...template } = Template.fromStack(rules).toJSON();
  return template;
}

/** Opt-in by `npm run test:emulator`. */
describe('the recipes on another AWS emulator that enforces IAM', { timeout: 6 * MINUTES }, () => {
  let emulator: Ministack;
  let stack: DeployedStack;
  let assembly: string;
  let outputs: Outputs;
  let receiver: Loopback;
  let writer: Credentials;
  let stranger: Credentials;
  const terraform = (...args: readonly string[]) =>
    outputOf('terraform', [`-chdir=${TERRAFORM}`, ...args], { ...emulator.environment(), ...TERRAFORM_ENV });

  beforeAll(async () => {
    emulator = await startMinistack({ enforceIam: true });
    stack = stackOn(emulator);
    assembly = await synthesizeForEmulator(PARTS);
    await stack.prepare(assembly);
    const publish = /^npx cdk (publish-assets .*) cdk\.out$/m.exec(README)?.[1] ?? '';
    await outputOf('cdk', [...publish.split(' '), assembly], emulator.environment());
    if (TERRAFORM === undefined) await stack.deploy(assembly);
    else {
      symlinkSync(assembly, join(TERRAFORM, 'cdk.out'));
      await terraform('apply', '-auto-approve', '-input=false', '-no-color');
    }
    outputs = await stack.outputs();
    receiver = await startLoopback();
    await stack.aws(['dynamodb', 'create-table', '--table-name', 'orders', ...ORDERS.split(' ')]);
    // The emulator knows no attributes of a write, so their condition is left out (test/docs/writer-policy.test.ts).
    const log = { actions: writerPolicy().Action, resources: [arn(outputs['NotificationLogTable'] ?? '')] };
    const keys = { actions: ['kms:GenerateDataKey', 'kms:Decrypt'], resources: [outputs['DataKey'] ?? ''] };
    const orders = { actions: ['dynamodb:PutItem'], resources: [arn('orders')] };
    writer = await createUser(stack, 'writer', [log, keys, orders]);
    stranger = await createUser(stack, 'stranger', [orders]);
  }, 10 * MINUTES);
  afterAll(async () => {
    await emulator?.stop();
    await receiver?.close();
  }, MINUTES);

  it.skipIf(TERRAFORM === undefined)('make a stage by Terraform, and leave it nothing to change', async () => {
    const { api } = JSON.parse(await terraform('output', '-json'));
    expect(api.value).toBe((await stack.outputs())['ApiUrl']);
    await terraform('plan', '-detailed-exitcode', '-input=false');
    await outputOf('cdk', ['diff', '--fail', '--app', assembly], emulator.environment());
  });

  /** An order and its notification in one transaction. */
  const write = (state: string, as: Credentials) => {
    const row = {
      ...JSON.parse(foreignRow({ notification_type: 'WEBHOOK', recipient_address: `${receiver.url}/7` })),
      log_id: { S: 'order-7-ready' },
      send_status: { S: 'PENDING' },
    };
    const items = [
      { Put: { TableName: 'orders', Item: { order_id: { S: '7' }, state: { S: state } } } },
      {
        Put: {
          TableName: outputs['NotificationLogTable'],
          Item: row,
          ConditionExpression: 'attribute_not_exists(log_id)',
        },
      },
    ];
    return stack.aws(['dynamodb', 'transact-write-items', '--transact-items', JSON.stringify(items)], as);
  };
  const order = async () => {
    const get = ['dynamodb', 'get-item', '--table-name', 'orders', '--key', '{"order_id":{"S":"7"}}'];
    return JSON.parse((await stack.aws(get)) || '{}').Item?.state.S;
  };

  it('write an order with its notification, which is sent, with the rights of writers', async () => {
    await expect(write('ready', stranger)).rejects.toThrow('AccessDenied');
    expect(await order()).toBeUndefined();
    await write('ready', writer);
    await until('it is indexed', async () => (await stack.row('order-7-ready'))?.['work_queue'] !== undefined);
    await stack.npm('batch:notification-retry', ['--json', '--wait']);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/7']);
    await expect(write('again', writer)).rejects.toThrow('TransactionCanceledException');
    expect(await order()).toBe('ready');
  });

  it('tell a queue and a function by rules, with the rights that their stack gives', async () => {
    const template = join(assembly, 'rules.json');
    writeFileSync(template, JSON.stringify(rulesTemplate()));
    const deploy = ['--stack-name', 'rules', '--template-file', template, '--capabilities', 'CAPABILITY_IAM'];
    await stack.aws(['cloudformation', 'deploy', ...deploy]);
    const detail = { version: 1, event_id: 'e', provider: 'slack#INT1', status: 'open' };
    const [Source, DetailType] = ['notification-retry', 'Provider Down'];
    const entry = { EventBusName: 'told', Source, DetailType, Detail: JSON.stringify(detail) };
    await stack.aws(['events', 'put-events', '--entries', JSON.stringify([entry])]);
    const { QueueUrl } = JSON.parse(await stack.aws(['sqs', 'get-queue-url', '--queue-name', 'inbox']));
    const receive = ['sqs', 'receive-message', '--queue-url', QueueUrl];
    const message = await until(
      'the queue is told',
      async () => JSON.parse((await stack.aws(receive)) || '{}').Messages,
    );
    expect(JSON.parse(message[0].Body)).toMatchObject({ source: Source, 'detail-type': DetailType, detail });
    const logs = ['logs', 'filter-log-events', '--log-group-name', '/aws/lambda/called'];
    const logged = () => stack.aws(logs).catch(() => '');
    await until('the function is told', async () => (await logged()).includes('told of slack#INT1'));
  });

  it('export the log by a command that the AWS CLI and DynamoDB take', async () => {
    const line = /^aws (dynamodb export-table-to-point-in-time .*)$/m.exec(README)?.[1] ?? '';
    const table = arn(outputs['NotificationLogTable'] ?? '');
    const { ExportDescription } = JSON.parse(await stack.aws(line.replace('"$TABLE_ARN"', table).split(' ')));
    expect(ExportDescription).toMatchObject({ TableArn: table, ExportFormat: 'DYNAMODB_JSON' });
  });
});
