import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { parseStageConfig } from '../../lib/config/stage-config.ts';
import { NotificationRetry } from '../../lib/notification-retry.ts';
import { STAGES } from '../support/lib/stages.ts';
import { appOf, resourcesOf, stackOf, templateOf } from '../support/lib/synthesize.ts';

const KEY = 'arn:aws:kms:ap-northeast-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const TOPIC = 'arn:aws:sns:ap-northeast-1:444455556666:platform-alarms';
const BOUNDARY = 'arn:aws:iam::111122223333:policy/platform/boundary';
const VPC = {
  vpcId: 'vpc-0123456789abcdef0',
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
  securityGroupIds: ['sg-0123456789abcdef0'],
};
const TAGS = { CostCenter: '4711', Team: 'プラットフォーム' };
const SENDER = 'noreply@mail.your-domain.jp';

const set = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`notification-retry.${key}`, value]));
const EVERYTHING = {
  ...STAGES.everything,
  ...set({ vpc: VPC, encryptionKeyArn: KEY, permissionsBoundaryArn: BOUNDARY, tags: TAGS }),
};
const template = templateOf(EVERYTHING);

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}
const resources = Object.entries(template.toJSON()['Resources'] as Record<string, Resource>);
const ofType = (type: string) => resources.filter(([, { Type }]) => Type === type);

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}
const statementsIn = (from: Template): Statement[] =>
  resourcesOf(from, 'AWS::IAM::Policy').flatMap(({ properties }) => Object(properties['PolicyDocument']).Statement);

describe('a network', () => {
  it('has every function, those that the CDK makes for itself included', () => {
    const functions = ofType('AWS::Lambda::Function');
    expect(functions.map(([id]) => id)).toContainEqual(expect.stringContaining('CustomS3AutoDeleteObjects'));
    for (const [id, { Properties }] of functions) {
      expect(Properties?.['VpcConfig'], id).toEqual({
        SubnetIds: VPC.subnetIds,
        SecurityGroupIds: VPC.securityGroupIds,
      });
    }
  });

  it('is entered by each function with rights of its role, before the function is made', () => {
    for (const [id, { Properties }] of ofType('AWS::Lambda::Function')) {
      const [role] = Object(Properties?.['Role'])['Fn::GetAtt'];
      const inline = JSON.stringify(resources.find(([name]) => name === role)?.[1].Properties?.['Policies'] ?? []);
      const attached = ofType('AWS::IAM::Policy').filter(([, policy]) =>
        JSON.stringify(policy.Properties?.['Roles']).includes(`"${role}"`),
      );
      const first = attached.find(([, policy]) => JSON.stringify(policy).includes('ec2:CreateNetworkInterface'));
      const waits = JSON.stringify(template.toJSON()['Resources'][id].DependsOn ?? []);
      expect(inline.includes('ec2:CreateNetworkInterface') || waits.includes(`"${first?.[0]}"`), id).toBe(true);
    }
  });

  it('is no right of a stage without one', () => {
    expect(JSON.stringify(templateOf(STAGES.everything).toJSON())).not.toMatch(/"ec2:|VpcConfig/);
  });
});

describe("a team's key", () => {
  /** Where a type says its key. A type that is in no list may store something: look it up, and add it. */
  const KEYED: Readonly<Record<string, (properties: Readonly<Record<string, unknown>>) => unknown>> = {
    'AWS::DynamoDB::Table': ({ SSESpecification }) => Object(SSESpecification).KMSMasterKeyId,
    'AWS::SQS::Queue': ({ KmsMasterKeyId, SqsManagedSseEnabled }) => SqsManagedSseEnabled ?? KmsMasterKeyId,
    'AWS::Logs::LogGroup': ({ KmsKeyId }) => KmsKeyId,
    'AWS::SNS::Topic': ({ KmsMasterKeyId }) => KmsMasterKeyId,
    'AWS::SecretsManager::Secret': ({ KmsKeyId }) => KmsKeyId,
    'AWS::S3::Bucket': ({ BucketEncryption }) =>
      Object(BucketEncryption).ServerSideEncryptionConfiguration[0].ServerSideEncryptionByDefault.KMSMasterKeyID,
  };
  /** They store no message and no address. */
  const STORES_NOTHING =
    /^AWS::(ApiGatewayV2::.*|CDK::Metadata|CloudFront::.*|CloudWatch::(Alarm|Dashboard)|Cognito::.*|Events::(Rule|EventBus)|IAM::(Role|Policy)|Lambda::.*|S3::BucketPolicy|SES::.*|SNS::(TopicPolicy|Subscription)|SQS::QueuePolicy|Scheduler::ScheduleGroup)$|^Custom::/;

  it('encrypts all that is stored, and the stack makes no key', () => {
    for (const [id, { Type, Properties = {} }] of resources) {
      const keyOf = KEYED[Type];
      if (keyOf) expect(keyOf(Properties), id).toBe(KEY);
      else expect(Type, id).toMatch(STORES_NOTHING);
    }
    for (const type of Object.keys(KEYED)) expect(ofType(type).length, type).toBeGreaterThan(0);
  });

  it('opens nothing for a role but what a service or a purpose of ours names', () => {
    const uses = statementsIn(template).filter(({ Action }) => /"kms:/.test(JSON.stringify(Action)));
    expect(uses.length).toBeGreaterThan(40);
    for (const { Resource, Condition } of uses) {
      expect(Resource).toBe(KEY);
      expect(Object.keys(Object(Condition).StringEquals)).toEqual([
        expect.stringMatching(/^kms:(ViaService|EncryptionContext:purpose)$/),
      ]);
    }
  });

  it('is used by whoever sends to a queue or takes from one', () => {
    for (const role of new Set(rolesWith(/"sqs:/))) expect(rolesWith(/"kms:.*sqs\./), role).toContain(role);
  });

  const rolesWith = (rights: RegExp): string[] =>
    ofType('AWS::IAM::Policy')
      .filter(([, { Properties }]) =>
        Object(Properties?.['PolicyDocument']).Statement.some((one: Statement) => rights.test(JSON.stringify(one))),
      )
      .flatMap(([, { Properties }]) => Object(Properties?.['Roles']).map(({ Ref }: { Ref: string }) => Ref));
});

describe("a team's topic", () => {
  const theirs = templateOf({
    ...STAGES.everything,
    ...set({ alarmTopicArn: TOPIC, alarmEmails: ['ops@example.com'] }),
  });

  it('gets every alarm and every notice, and the stack makes neither topic nor key for it', () => {
    expect(theirs.findResources('AWS::SNS::Topic')).toEqual({});
    const alarms = resourcesOf(theirs, 'AWS::CloudWatch::Alarm');
    for (const { id, properties } of alarms) {
      expect([properties['AlarmActions'], properties['OKActions']], id).toEqual([[TOPIC], [TOPIC]]);
    }
    theirs.hasResourceProperties('AWS::SNS::Subscription', { TopicArn: TOPIC, Endpoint: 'ops@example.com' });
    theirs.hasOutput('AlertsTopic', { Value: TOPIC });
    expect(resourcesOf(theirs, 'AWS::KMS::Key')).toHaveLength(2);
    const monitor = resourcesOf(theirs, 'AWS::Lambda::Function').find(({ id }) => id.includes('MonitoringMonitor'));
    expect(Object(monitor?.properties['Environment']).Variables['ALERTS_TOPIC_ARN']).toBe(TOPIC);
  });

  it('may have a key that nobody names', () => {
    const [use] = statementsIn(theirs).filter(({ Condition }) => JSON.stringify(Condition ?? {}).includes('topicArn'));
    expect(use).toMatchObject({
      Action: ['kms:Decrypt', 'kms:GenerateDataKey'],
      Condition: { StringEquals: { 'kms:EncryptionContext:aws:sns:topicArn': TOPIC } },
    });
  });
});

describe('a boundary', () => {
  it('is on every role', () => {
    const roles = ofType('AWS::IAM::Role');
    expect(roles.length).toBeGreaterThan(20);
    for (const [id, { Properties }] of roles) expect(Properties?.['PermissionsBoundary'], id).toBe(BOUNDARY);
  });
});

describe('tags', () => {
  it('are on the stack, and on all that takes tags', () => {
    expect(stackOf(EVERYTHING).tags.tagValues()).toEqual(TAGS);
    const tagged = resources.filter(([, { Properties }]) => JSON.stringify(Properties ?? {}).includes('"4711"'));
    const untagged = new Set(resources.filter((one) => !tagged.includes(one)).map(([, { Type }]) => Type));
    for (const type of [
      'Lambda::Function',
      'IAM::Role',
      'DynamoDB::Table',
      'SQS::Queue',
      'Logs::LogGroup',
      'S3::Bucket',
    ]) {
      expect(untagged).not.toContain(`AWS::${type}`);
    }
    expect(tagged.length).toBeGreaterThan(150);
  });

  it.each([{ 'aws:x': 'y' }, { '': 'y' }, { 'a?': 'y' }, { a: 'x'.repeat(257) }, { a: 1 }])(
    'are refused: %j',
    (tags) => {
      expect(() => parseStageConfig({ stage: 'dev', senderAddress: SENDER, tags })).toThrow(/^.*\n {2}tags/);
    },
  );
});

describe('what is no ARN or id', () => {
  it.each([
    [{ encryptionKeyArn: 'alias/x' }, 'encryptionKeyArn must be the ARN of a key'],
    [{ alarmTopicArn: `${TOPIC}.fifo` }, 'alarmTopicArn must be the ARN of a topic that is not FIFO'],
    [{ permissionsBoundaryArn: 'boundary' }, 'permissionsBoundaryArn must be the ARN of a policy'],
    [{ vpc: { ...VPC, vpcId: 'x' } }, 'vpc.vpcId must be the id of a VPC'],
    [{ vpc: { ...VPC, subnetIds: [] } }, 'vpc.subnetIds must be a list of at least one subnet id'],
    [{ vpc: { vpcId: VPC.vpcId } }, 'vpc.securityGroupIds is missing'],
  ])('is refused: %j', (given, says) => {
    expect(() => parseStageConfig({ stage: 'dev', senderAddress: SENDER, ...given })).toThrow(says);
  });
});

describe('a region that lacks something', () => {
  const CONSOLE = { issuer: 'https://login.example.com', clientId: 'console' };
  const WEBHOOKS = { channels: ['webhook'], newsletters: false } as const;
  it.each([
    ['cn-north-1', {}, ['China has no SES']],
    ['cn-northwest-1', { ...WEBHOOKS, console: CONSOLE }, ['China has no user pools']],
    ['us-gov-west-1', { console: CONSOLE }, ['GovCloud has no CloudFront']],
    ['us-gov-west-1', {}, []],
    ['cn-north-1', WEBHOOKS, []],
    ['eu-west-1', { console: CONSOLE }, []],
    [undefined, { console: CONSOLE }, []],
  ])('is said at the synthesis: %s with %j', (region, more, says) => {
    const stack = new Stack(
      appOf(),
      'Theirs',
      region === undefined ? {} : { env: { account: '111122223333', region } },
    );
    const retry = new NotificationRetry(stack, 'Retry', { stage: 'test', senderAddress: SENDER, ...more });
    const warnings = retry.node.metadata
      .filter(({ type }) => type === 'aws:cdk:warning')
      .map(({ data }) => String(data));
    expect(warnings).toEqual(says.map((text) => expect.stringContaining(text)));
  });
});

it("takes all of it from other constructs of the team's app, whose names nobody knows yet", () => {
  const stack = new Stack(appOf(), 'Theirs', { env: { account: '111122223333', region: 'ap-northeast-1' } });
  const vpc = new Vpc(stack, 'Vpc');
  new NotificationRetry(stack, 'Retry', {
    stage: 'test',
    senderAddress: SENDER,
    vpc: {
      vpcId: vpc.vpcId,
      subnetIds: vpc.selectSubnets().subnetIds,
      securityGroupIds: [vpc.vpcDefaultSecurityGroup],
    },
    encryptionKeyArn: new Key(stack, 'Key').keyArn,
    alarmTopicArn: new Topic(stack, 'Topic').topicArn,
    permissionsBoundaryArn: ManagedPolicy.fromAwsManagedPolicyName('PowerUserAccess').managedPolicyArn,
    tags: TAGS,
  });
  const mine = Template.fromStack(stack);
  const [sender] = resourcesOf(mine, 'AWS::Lambda::Function').filter(({ id }) => id.includes('WebhookSender'));
  expect(Object(sender?.properties['VpcConfig']).SubnetIds).toEqual(stack.resolve(vpc.selectSubnets().subnetIds));
  const [queue] = resourcesOf(mine, 'AWS::SQS::Queue');
  expect(queue?.properties['KmsMasterKeyId']).toEqual({ 'Fn::GetAtt': [expect.stringMatching(/^Key/), 'Arn'] });
});

it('is accepted by cdk-nag', () => {
  expect(new AwsSolutionsChecks().validateScope(stackOf(EVERYTHING).node.root).violations).toEqual([]);
});
