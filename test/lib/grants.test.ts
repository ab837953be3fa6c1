import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { describe, expect, it } from 'vitest';
import { NotificationRetry } from '../../lib/notification-retry.ts';
import { writerPolicy } from '../../tools/smoke/writer.ts';
import { OPERATOR_COMMANDS } from '../support/docs/operator-commands.ts';
import { STACK } from '../support/emulator/deployed-stack.ts';
import { ACCOUNT } from '../support/emulator/ministack.ts';
import { documentedRights } from '../support/emulator/operator-rights.ts';
import { queueOf, tableOf } from '../support/emulator/resources.ts';
import { appOf } from '../support/lib/synthesize.ts';

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const stack = new Stack(appOf(), STACK, { env: { account: ACCOUNT, region: 'us-east-1' } });
const retry = new NotificationRetry(stack, 'Retry', {
  ...{ stage: 'dev', senderAddress: 'noreply@mail.your-domain.jp', outcomes: true },
});
const roleOf = (id: string) => new Role(stack, id, { assumedBy: new AccountPrincipal(ACCOUNT) });
retry.grantHandOver(roleOf('Writer')).assertSuccess();
retry.grantReadOutcomes(roleOf('Reader')).assertSuccess();
retry.grantOperate(roleOf('Viewer'), 'viewer').assertSuccess();
retry.grantOperate(roleOf('Operator')).assertSuccess();
const json = Template.fromStack(stack).toJSON();

/** References as the ARNs, names and URLs that they would be. */
function resolved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolved);
  if (typeof value !== 'object' || value === null) return value;
  const one = value as Readonly<Record<string, unknown>>;
  if (Array.isArray(one['Fn::Join'])) return (resolved(one['Fn::Join'][1]) as string[]).join(one['Fn::Join'][0]);
  if (one['Ref'] === 'AWS::Partition') return 'aws';
  const [id] = [one['Fn::GetAtt'] ?? one['Ref']].flat().map(String);
  if (id === undefined || (one['Ref'] === undefined && one['Fn::GetAtt'] === undefined)) {
    return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, resolved(inner)]));
  }
  const byArn = one['Ref'] === undefined;
  const arn = (service: string, resource: string) => `arn:aws:${service}:us-east-1:${ACCOUNT}:${resource}`;
  switch (json['Resources'][id].Type) {
    case 'AWS::DynamoDB::Table':
      return byArn ? tableOf(id) : id;
    case 'AWS::SQS::Queue':
      return byArn ? queueOf(id) : `https://sqs/${id}`;
    case 'AWS::Lambda::Function':
      return byArn ? arn('lambda', `function:${id}`) : id;
    case 'AWS::Events::EventBus':
      return byArn ? arn('events', `event-bus/${id}`) : id;
    default:
      return id;
  }
}

/** What does not fit into a role's own policy, CDK puts into a second one. */
const statementsOf = (role: string): Statement[] =>
  Object.entries(json['Resources'] as Readonly<Record<string, { readonly Type: string; readonly Properties: object }>>)
    .filter(([id, { Type }]) => /^AWS::IAM::(Managed)?Policy$/.test(Type) && id.startsWith(role))
    .flatMap(([, { Properties }]) => resolved(Object(Properties)['PolicyDocument'].Statement) as Statement[]);

const covers = (pattern: string, name: string) =>
  new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`).test(name);
const allows = (role: string, action: string, resource: string): boolean =>
  statementsOf(role).some(
    (one) =>
      [one.Action].flat().includes(action) &&
      // A right to all indexes is asked for as such.
      [one.Resource].flat().some((pattern) => pattern === resource || covers(pattern, resource)),
  );

const outputs: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(json['Outputs'] as Readonly<Record<string, { Value: unknown }>>).map(([name, { Value }]) => [
    name,
    String(resolved(Value)),
  ]),
);

/** What of a command's documented rights a role lacks. */
function lacking(role: string, command: string): string[] {
  return documentedRights(command, outputs).flatMap(({ actions, resources }) =>
    actions.flatMap((action) =>
      resources
        // The runbook's rows name tables and indexes together; only these two actions know indexes.
        .filter((resource) => !resource.includes('/index/') || /:(Query|Scan)$/.test(action))
        // The emulator's, in place of identities, templates and sets.
        .filter((resource) => resource !== '*' && !allows(role, action, resource))
        .map((resource) => `${action} ${resource}`),
    ),
  );
}

/** They look at the account, or at another machine, or do what the others do. */
const ELSEWHERE = ['preflight', 'leftovers', 'console'];
const VIEWING = [
  ...['status', 'sweeps', 'audit', 'list', 'show', 'verify', 'dlq list', 'dlq show', 'keys list'],
  ...['newsletters list', 'newsletters show', 'senders list', 'emails list', 'emails status'],
];

describe('an operator', () => {
  it.each([...OPERATOR_COMMANDS.keys()].filter((name) => !ELSEWHERE.includes(name)))('may do %s', (command) => {
    expect(lacking('Operator', command)).toEqual([]);
  });

  it('deletes no row but an answer that was kept for a request', () => {
    const deleting = statementsOf('Operator').filter(({ Action }) => [Action].flat().includes('dynamodb:DeleteItem'));
    expect(deleting.map(({ Condition }) => JSON.stringify(Condition))).toEqual([expect.stringContaining('request#*')]);
    expect(JSON.stringify(statementsOf('Operator'))).not.toMatch(/DeleteTable|BatchWrite|PurgeQueue|PutKeyPolicy/);
  });
});

describe('a viewer', () => {
  it.each(VIEWING)('may do %s', (command) => expect(lacking('Viewer', command)).toEqual([]));

  it('changes nothing, and opens no recipient', () => {
    const actions = new Set(statementsOf('Viewer').flatMap(({ Action }) => Action));
    expect(
      [...actions].filter((action) =>
        /:(Put|Update|Delete|Send|Start|Invoke|PartiQL|GenerateDataKey|Encrypt)/.test(action),
      ),
    ).toEqual([]);
    const text = JSON.stringify(statementsOf('Viewer'));
    expect(text).not.toMatch(/RecipientKey|TablesDataKeys|Members|secretsmanager/);
  });

  it('may do nothing that is not documented for a viewer or an operator', () => {
    for (const action of new Set(statementsOf('Viewer').flatMap(({ Action }) => Action))) {
      const documented = [...OPERATOR_COMMANDS.values()].some((rights) => rights.includes(action));
      expect(documented || /^(cloudformation:DescribeStacks|kms:Decrypt)$/.test(action), action).toBe(true);
    }
  });
});

describe('a writer', () => {
  it('has the documented policy and the key of the tables, and nothing else', () => {
    const [rows, key, ...more] = statementsOf('Writer');
    const { Effect, Action, Condition } = writerPolicy();
    expect(rows).toEqual({
      Effect,
      Action,
      Condition,
      Resource: outputs['NotificationLogTable'] && tableOf(outputs['NotificationLogTable']),
    });
    expect(key).toMatchObject({ Action: ['kms:Decrypt', 'kms:GenerateDataKey'], Resource: outputs['DataKey'] });
    expect(more).toEqual([]);
  });
});

describe('a reader of outcomes', () => {
  it('reads states, and no content and no recipient', () => {
    const [rows] = statementsOf('Reader').filter(({ Action }) => [Action].flat().includes('dynamodb:BatchGetItem'));
    const columns = Object(rows?.Condition?.['ForAllValues:StringEquals'])['dynamodb:Attributes'];
    expect(columns).toEqual(expect.arrayContaining(['log_id', 'send_status', 'failure_reason', 'delivered_at']));
    expect(columns).not.toEqual(expect.arrayContaining([expect.stringMatching(/recipient|subject|body|message/)]));
    expect(rows?.Condition?.['Null']).toEqual({ 'dynamodb:Attributes': 'false' });
    expect(JSON.stringify(statementsOf('Reader'))).not.toMatch(
      /TablesContent|RecipientKey|Put(Item|Events)|UpdateItem/,
    );
  });

  it('has rules on the bus that tells them, where there is one', () => {
    const rule = `arn:aws:events:us-east-1:${ACCOUNT}:rule/${outputs['OutcomesBus']}/mine`;
    expect(allows('Reader', 'events:PutRule', rule)).toBe(true);
    expect(allows('Reader', 'events:PutRule', `arn:aws:events:us-east-1:${ACCOUNT}:rule/mine`)).toBe(false);
  });
});
