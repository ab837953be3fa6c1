import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readAccount, readTies } from '../../../src/adapters/deployment/account-facts.ts';
import { readLeftovers } from '../../../src/adapters/deployment/leftovers.ts';
import { type Loopback, replying, startLoopback } from '../../support/loopback.ts';

/** What CloudFormation has: the resources of each stack, with their status. */
type Stacks = Readonly<Record<string, readonly (readonly [id: string, status: string])[]>>;

const OWN = 'notification-retry-prod';
const TABLE = `${OWN}-TablesLogAB12-1XYZ`;
const OLD_TABLE = `${OWN}-TablesLogAB12-0OLD`;
const secretArn = (name: string) => `arn:aws:secretsmanager:us-east-1:111122223333:secret:${name}-AbCdEf`;
const SECRETS = [
  {
    Name: 'Hash',
    ARN: secretArn('Hash'),
    Description: "notification-retry prod: key of the recipients' hash",
    Tags: [{ Key: 'aws:cloudformation:stack-name', Value: OWN }],
  },
  { Name: 'Eu', ARN: secretArn('Eu'), Description: 'notification-retry prod-eu: key of the hash' },
  { Name: 'notification-retry/prod/integrations/slack/IC1', ARN: secretArn('IC1') },
];
/** Of the same stage, by the construct in the stack of another app. */
const OF_ANOTHER = {
  Name: 'App',
  ARN: secretArn('App'),
  Description: 'notification-retry prod: key of the hash',
  Tags: [{ Key: 'aws:cloudformation:stack-name', Value: 'another-stack' }],
};

/** Those of a stack that is gone. */
const SECRETS_LEFT = [
  "The secret Hash (key of the recipients' hash).",
  'The secret notification-retry/prod/integrations/slack/IC1 of an integration.',
];

let aws: Loopback;
beforeEach(async () => {
  aws = await startLoopback();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await aws.close();
});

const access = () => ({
  region: 'us-east-1',
  endpoint: aws.url,
  credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
});

/** AWS with these stacks and tables, as it answers over the wire. */
function has(stacks: Stacks, tables: readonly string[], attributes = '', secrets: readonly object[] = SECRETS): void {
  aws.answer = (response, received) => {
    const { headers, body } = received;
    const target = String(headers['x-amz-target'] ?? '');
    const json = (value: object) => replying(200, JSON.stringify(value))(response, received);
    if (target.endsWith('ListTables')) return json({ TableNames: tables });
    if (target.endsWith('ListSecrets')) return json({ SecretList: secrets });
    const asked = new URLSearchParams(body);
    const action = asked.get('Action') ?? 'none';
    const name = asked.get('StackName');
    const members =
      action === 'DescribeStacks'
        ? `<Stacks>${Object.keys(stacks)
            .filter((one) => name === null || one === name)
            .map((one) => `<member><StackName>${one}</StackName>${attributes}</member>`)
            .join('')}</Stacks>`
        : `<StackResourceSummaries>${(stacks[name ?? ''] ?? [])
            .map(
              ([id, status]) =>
                `<member><PhysicalResourceId>${id}</PhysicalResourceId><ResourceStatus>${status}</ResourceStatus></member>`,
            )
            .join('')}</StackResourceSummaries>`;
    const result = `<${action}Response><${action}Result>${members}</${action}Result></${action}Response>`;
    return replying(200, result, { 'content-type': 'text/xml' })(response, received);
  };
}

const left = async () => (await readLeftovers(OWN, access())).map(({ what }) => what);

describe('what a stack has left', () => {
  it('is all that bears its name once it is deleted', async () => {
    has({ 'another-stack': [] }, [TABLE, 'another-stack-Log-1']);
    expect(await left()).toEqual([`The table ${TABLE}.`, ...SECRETS_LEFT]);
  });

  it('is no integration of a stage that lives on in a stack of another name', async () => {
    has({ 'another-stack': [] }, [], '', [...SECRETS, OF_ANOTHER]);
    expect(await left()).toEqual(SECRETS_LEFT.slice(0, 1));
  });

  it('is nothing that a live stack owns: only what an older one of its name has left', async () => {
    has(
      {
        [OWN]: [
          [TABLE, 'UPDATE_COMPLETE'],
          [secretArn('Hash'), 'CREATE_COMPLETE'],
        ],
      },
      [TABLE, OLD_TABLE],
    );
    expect(await left()).toEqual([`The table ${OLD_TABLE}.`]);
  });

  it('is what a stack that failed names, and has let go', async () => {
    has(
      {
        [OWN]: [
          [TABLE, 'DELETE_SKIPPED'],
          [secretArn('Hash'), 'DELETE_COMPLETE'],
        ],
      },
      [TABLE],
    );
    expect(await left()).toEqual([`The table ${TABLE}.`, ...SECRETS_LEFT]);
  });

  it.each([
    ['stands', { [`${OWN}-eu`]: [[`${OWN}-eu-TablesLogAB12-1XYZ`, 'CREATE_COMPLETE']] } satisfies Stacks],
    ['is deleted', {}],
  ])('is nothing of prod-eu, which %s', async (_, stacks) => {
    has(stacks, [`${OWN}-eu-TablesLogAB12-1XYZ`]);
    // A stack whose name begins so may be a part of it, and then the integrations are in use.
    expect(await left()).toEqual(SECRETS_LEFT.slice(0, Object.keys(stacks).length > 0 ? 1 : 2));
  });

  it('is no table that a stack whose name goes on from this one owns under a name like its own', async () => {
    has({ [`${OWN}-eu`]: [[`${OWN}-eu-1XYZ`, 'CREATE_COMPLETE']] }, [`${OWN}-eu-1XYZ`]);
    expect(await left()).toEqual(["The secret Hash (key of the recipients' hash)."]);
  });
});

describe('what CloudFormation remembers of deleted stacks', () => {
  it('is keys, logs, queues and user pools that were retained, and that no stack owns again', async () => {
    const resource = (id: string, type: string, status = 'DELETE_SKIPPED') =>
      `<member><PhysicalResourceId>${id}</PhysicalResourceId><ResourceType>AWS::${type}</ResourceType><ResourceStatus>${status}</ResourceStatus></member>`;
    aws.answer = (response, received) => {
      const target = String(received.headers['x-amz-target'] ?? '');
      const TableNames = ['Theirs-Nested-1-Log'];
      if (target !== '') return replying(200, JSON.stringify({ TableNames }))(response, received);
      const asked = new URLSearchParams(received.body);
      const action = asked.get('Action') ?? '';
      const parts: Readonly<Record<string, string>> = {
        DescribeStacks: `<Stacks><member><StackName>${OWN}</StackName></member></Stacks>`,
        ListStacks: `<StackSummaries><member><StackName>${OWN}</StackName><StackId>gone</StackId></member><member><StackName>${OWN}-eu</StackName><StackId>eu</StackId></member><member><StackName>${OWN}-monitoring</StackName><StackId>part</StackId></member><member><StackName>X</StackName><StackId>nested</StackId><RootId>arn:aws:cloudformation:us-east-1:1:stack/${OWN}/u-1</RootId></member></StackSummaries>`,
        ListStackResources: `<StackResourceSummaries>${
          asked.get('StackName') === 'gone'
            ? resource('Theirs-Nested-1-Log', 'DynamoDB::Table') +
              resource('Theirs-Nested-1-Removed', 'DynamoDB::Table') +
              resource('k1', 'KMS::Key') +
              resource('k2', 'KMS::Key') +
              resource('k3', 'KMS::Key', 'DELETE_COMPLETE') +
              resource('/aws/lambda/x', 'Logs::LogGroup') +
              resource('https://sqs/q-dead-letter', 'SQS::Queue') +
              resource('eu-1_Ab', 'Cognito::UserPool')
            : ({ part: resource('/aws/lambda/part', 'Logs::LogGroup'), nested: resource('k9', 'KMS::Key') }[
                asked.get('StackName') ?? ''
              ] ?? resource('k2', 'KMS::Key', 'CREATE_COMPLETE'))
        }</StackResourceSummaries>`,
      };
      const result = `<${action}Response><${action}Result>${parts[action]}</${action}Result></${action}Response>`;
      return replying(200, result, { 'content-type': 'text/xml' })(response, received);
    };
    expect((await readLeftovers(OWN, access())).map(({ what, remove }) => `${what} ${remove}`)).toEqual([
      'The table Theirs-Nested-1-Log. aws dynamodb update-table --no-deletion-protection-enabled --table-name Theirs-Nested-1-Log; aws dynamodb delete-table --table-name Theirs-Nested-1-Log',
      'The key k1. aws kms schedule-key-deletion --pending-window-in-days 30 --key-id k1',
      'The log group /aws/lambda/x. aws logs delete-log-group --log-group-name /aws/lambda/x',
      'The queue https://sqs/q-dead-letter. aws sqs delete-queue --queue-url https://sqs/q-dead-letter',
      'The user pool eu-1_Ab. aws cognito-idp delete-user-pool --user-pool-id eu-1_Ab',
      'The log group /aws/lambda/part. aws logs delete-log-group --log-group-name /aws/lambda/part',
      'The key k9. aws kms schedule-key-deletion --pending-window-in-days 30 --key-id k9',
    ]);
  });
});

describe('the account', () => {
  it('says of the stack what can be read of it', async () => {
    const status = '<StackStatus>REVIEW_IN_PROGRESS</StackStatus>';
    has({ [OWN]: [] }, [], `${status}<EnableTerminationProtection>true</EnableTerminationProtection>`);
    expect((await readAccount(OWN, '', access())).stack).toEqual({
      name: OWN,
      status: 'REVIEW_IN_PROGRESS',
      is_protected: true,
      outputs: {},
    });
  });

  it.each([
    ['an address that is verified', { 'noreply@mail.example.com': true }, true],
    ['an address of a verified domain', { 'example.com': true }, true],
    ['a domain whose verification is pending', { 'mail.example.com': false }, false],
    ['nothing of it', {}, false],
  ])(
    'says whether SES takes mails of the sender: it knows %s',
    async (_, identities: Record<string, boolean>, knows_sender) => {
      has({}, []);
      const { answer } = aws;
      aws.answer = (response, received) => {
        const identity = /^\/v2\/email\/identities\/(.+)$/.exec(received.path)?.[1];
        if (received.path === '/v2/email/account')
          return replying(200, '{"ProductionAccessEnabled":true}')(response, received);
        if (identity === undefined) return answer(response, received);
        const VerifiedForSendingStatus = identities[decodeURIComponent(identity)];
        return VerifiedForSendingStatus === undefined
          ? replying(404, '{}', { 'x-amzn-errortype': 'NotFoundException' })(response, received)
          : replying(200, JSON.stringify({ VerifiedForSendingStatus }))(response, received);
      };
      const { ses } = await readAccount(OWN, 'Us <noreply@mail.example.com>', access());
      expect(ses).toEqual({ production: true, sending: true, per_day: 0, knows_sender });
    },
  );

  it('says which rules listen to the bus of outcomes, and who gets alarms', async () => {
    const subscriptions = '<Subscriptions><member><Protocol>https</Protocol></member></Subscriptions>';
    const listed = `<ListSubscriptionsByTopicResponse><ListSubscriptionsByTopicResult>${subscriptions}</ListSubscriptionsByTopicResult></ListSubscriptionsByTopicResponse>`;
    aws.answer = (response, received) =>
      received.headers['x-amz-target'] === 'AWSEvents.ListRules'
        ? replying(200, JSON.stringify({ Rules: [{ Name: 'billing' }] }))(response, received)
        : replying(200, listed, { 'content-type': 'text/xml' })(response, received);
    const outputs = { OutcomesBus: 'notification-retry-prod', AlertsTopic: 'arn:aws:sns:us-east-1:111122223333:x' };
    expect(await readTies(outputs, access())).toEqual({ rules: ['billing'], subscribers: 1 });
    expect(JSON.parse(aws.received[0]?.body ?? '')).toEqual({ EventBusName: 'notification-retry-prod' });
    expect(await readTies({}, access())).toEqual({ rules: [], subscribers: 0 });
    expect(aws.received).toHaveLength(2);
  });

  it('is asked in the region of the SDK, which does not read AWS_DEFAULT_REGION', async () => {
    const { region: _, ...elsewhere } = access();
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
    vi.stubEnv('AWS_REGION', undefined);
    vi.stubEnv('AWS_DEFAULT_REGION', 'eu-west-1');
    expect(await readAccount(OWN, '', elsewhere)).toEqual({});
    expect(aws.received).toEqual([]);
    vi.stubEnv('AWS_REGION', 'eu-west-2');
    has({ [OWN]: [] }, []);
    expect(await readAccount(OWN, '', elsewhere)).toMatchObject({ region: 'eu-west-2', stack: { name: OWN } });
    const signed = aws.received.map(({ headers }) => String(headers.authorization));
    expect(signed.length).toBeGreaterThan(3);
    expect(signed.filter((one) => !one.includes('/eu-west-2/'))).toEqual([]);
  });

  it('is asked in the region of a profile', async () => {
    const { region: _, ...elsewhere } = access();
    vi.stubEnv('AWS_REGION', undefined);
    const folder = mkdtempSync(join(tmpdir(), 'preflight-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'config'), '[profile eu]\nregion = eu-north-1\n');
    vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
    vi.stubEnv('AWS_PROFILE', 'eu');
    has({ [OWN]: [] }, []);
    expect(await readAccount(OWN, '', elsewhere)).toMatchObject({ region: 'eu-north-1' });
  });
});
