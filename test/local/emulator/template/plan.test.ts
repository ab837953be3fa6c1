import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAssembly } from '../../../../src/local/emulator/template/assembly.ts';
import { planFrom } from '../../../../src/local/emulator/template/plan.ts';
import { scratch, writeAssembly, writeBundle } from '../../../support/local/tiny-app.ts';

const place = { region: 'us-east-1', accountId: '000000000000', sqsEndpoint: 'http://127.0.0.1:9' };

describe('the plan of a stack', () => {
  let directory: ReturnType<typeof scratch>;
  beforeEach(() => {
    directory = scratch();
  });
  afterEach(() => directory.remove());

  const plan = (resources: Record<string, object>, rest: object = {}) => {
    const asset = writeBundle(directory.path, 'worker', 'export const handler = () => {};');
    const Worker = {
      Type: 'AWS::Lambda::Function',
      Properties: {
        Handler: 'index.handler',
        Timeout: 20,
        MemorySize: 256,
        Environment: { Variables: { TABLE: { Ref: 'Log' }, QUEUE: { Ref: 'Lane' } } },
      },
      Metadata: { 'aws:asset:path': asset },
    };
    writeAssembly(directory.path, { Resources: { Log, Lane, Dead, Worker, ...resources }, ...rest });
    return planFrom(readAssembly(directory.path), place);
  };

  it('names a resource without a name after the stack and the logical id, and resolves references to it', () => {
    const { tables, functions } = plan({});
    expect(tables.map((table) => table.TableName)).toEqual(['tiny-Log']);
    expect(functions).toMatchObject([
      {
        name: 'tiny-Worker',
        handler: 'index.handler',
        timeoutSeconds: 20,
        memoryMegabytes: 256,
        environment: { TABLE: 'tiny-Log', QUEUE: 'http://127.0.0.1:9/000000000000/lane' },
      },
    ]);
  });

  it('keeps shortened names apart', () => {
    const id = (end: string) => `${'VeryLongLogicalIdOfAChannelFunction'.repeat(2)}${end}`;
    const asset = writeBundle(directory.path, 'other', 'export const handler = () => {};');
    const other = {
      Type: 'AWS::Lambda::Function',
      Properties: { Handler: 'index.handler' },
      Metadata: { 'aws:asset:path': asset },
    };
    const { functions } = plan({ [id('AAAA1111')]: other, [id('BBBB2222')]: other });
    const names = functions.map((one) => one.name);
    expect(new Set(names).size).toBe(3);
    expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(64);
  });

  it('keeps keys, indexes and stream of a table', () => {
    expect(plan({}).tables[0]).toMatchObject({
      KeySchema: [{ AttributeName: 'log_id', KeyType: 'HASH' }],
      GlobalSecondaryIndexes: [{ IndexName: 'work', Projection: { ProjectionType: 'KEYS_ONLY' } }],
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
    });
  });

  it('creates a dead-letter queue before the queue that names it', () => {
    const { queues } = plan({});
    expect(queues.map((queue) => queue.name)).toEqual(['dead', 'lane']);
    expect(JSON.parse(queues[1]?.attributes['RedrivePolicy'] ?? '')).toEqual({
      deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead',
      maxReceiveCount: 5,
    });
    expect(queues[1]?.attributes['VisibilityTimeout']).toBe('120');
  });

  it('reads event source mappings of queues and streams', () => {
    const { queueMappings, streamMappings } = plan({
      FromQueue: mapping({
        EventSourceArn: { 'Fn::GetAtt': ['Lane', 'Arn'] },
        BatchSize: 10,
        MaximumBatchingWindowInSeconds: 2,
        ScalingConfig: { MaximumConcurrency: 7 },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      }),
      FromStream: mapping({
        EventSourceArn: { 'Fn::GetAtt': ['Log', 'StreamArn'] },
        BatchSize: 50,
        BisectBatchOnFunctionError: true,
        MaximumRetryAttempts: 3,
        DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': ['Dead', 'Arn'] } } },
        FilterCriteria: { Filters: [{ Pattern: '{"eventName":["INSERT"]}' }] },
      }),
      Off: mapping({ EventSourceArn: { 'Fn::GetAtt': ['Lane', 'Arn'] }, Enabled: false }),
    });
    expect(queueMappings).toMatchObject([
      {
        queueName: 'lane',
        functionName: 'tiny-Worker',
        batchSize: 10,
        batchWindowSeconds: 2,
        maximumConcurrency: 7,
        reportsBatchItemFailures: true,
        filters: [],
      },
    ]);
    expect(streamMappings).toMatchObject([
      {
        tableName: 'tiny-Log',
        batchSize: 50,
        bisectBatchOnFunctionError: true,
        maximumRetryAttempts: 3,
        onFailureQueue: 'dead',
        reportsBatchItemFailures: false,
        filters: [{ eventName: ['INSERT'] }],
      },
    ]);
  });

  it('lists the topics; a subscription by e-mail is ignored, one by a program is refused', () => {
    const topic = { Topic: { Type: 'AWS::SNS::Topic', Properties: {} } };
    const subscription = (Protocol: string) => ({
      Subscription: { Type: 'AWS::SNS::Subscription', Properties: { Protocol, TopicArn: { Ref: 'Topic' } } },
    });
    expect(plan({ ...topic, ...subscription('email') }).topics).toEqual(['tiny-Topic']);
    expect(() => plan({ ...topic, ...subscription('lambda') })).toThrow(/Subscription is an AWS::SNS::Subscription/);
  });

  it('reads schedules of rules with the input of their targets, leaves out disabled ones, and names the scheduler', () => {
    const target = { Arn: { 'Fn::GetAtt': ['Worker', 'Arn'] } };
    const { schedules } = plan({
      Rule: {
        Type: 'AWS::Events::Rule',
        Properties: { ScheduleExpression: 'cron(30 * * * ? *)', State: 'ENABLED', Targets: [{ ...target, Id: 't' }] },
      },
      Asked: {
        Type: 'AWS::Events::Rule',
        Properties: { ScheduleExpression: 'rate(5 minutes)', Targets: [{ ...target, Input: '{"dry_run":true}' }] },
      },
      Off: {
        Type: 'AWS::Events::Rule',
        Properties: { ScheduleExpression: 'rate(1 day)', State: 'DISABLED', Targets: [] },
      },
    });
    expect(schedules).toEqual([
      { id: 'Rule', expression: 'cron(30 * * * ? *)', functionName: 'tiny-Worker' },
      { id: 'Asked', expression: 'rate(5 minutes)', functionName: 'tiny-Worker', input: { dry_run: true } },
    ]);
    expect(() => plan({ Hourly: { Type: 'AWS::Scheduler::Schedule' } })).toThrow(
      /Hourly is an AWS::Scheduler::Schedule/,
    );
  });

  it('reads rules with an event pattern, and names an unsupported target', () => {
    const rule = (target: object, more = {}) => ({
      Type: 'AWS::Events::Rule',
      Properties: { EventPattern: { source: ['aws.ses'] }, Targets: [{ Id: 'x', ...target }], ...more },
    });
    const Arn = { 'Fn::GetAtt': ['Lane', 'Arn'] };
    const InputTransformer = { InputPathsMap: { id: '$.detail.id' }, InputTemplate: '{"id":<id>}' };
    const { eventRules, schedules } = plan({
      Lane,
      Dead,
      Whole: rule({ Arn }),
      Part: rule({ Arn, InputTransformer }),
      Off: rule({ Arn }, { State: 'DISABLED' }),
    });
    expect(eventRules).toEqual([
      { id: 'Whole', pattern: { source: ['aws.ses'] }, target: { kind: 'queue', name: 'lane' } },
      {
        id: 'Part',
        pattern: { source: ['aws.ses'] },
        target: { kind: 'queue', name: 'lane' },
        transformer: { paths: { id: '$.detail.id' }, template: '{"id":<id>}' },
      },
    ]);
    expect(schedules).toEqual([]);
    expect(() => plan({ Other: rule({ Arn: 'arn:aws:states:us-east-1:1:stateMachine:x' }) })).toThrow(
      /Other: the local runtime delivers events to queues, functions and API destinations, not to arn:aws:states/,
    );
  });

  it('reads rules of another bus, whose targets are functions, and receivers with a key in a header', () => {
    const rule = (target: object) => ({
      Type: 'AWS::Events::Rule',
      Properties: { EventBusName: { Ref: 'Bus' }, EventPattern: { source: ['x'] }, Targets: [{ Id: 'x', ...target }] },
    });
    const { eventRules } = plan({
      Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'told' } },
      Key: {
        Type: 'AWS::Events::Connection',
        Properties: { AuthParameters: { ApiKeyAuthParameters: { ApiKeyName: 'authorization', ApiKeyValue: 'k' } } },
      },
      Hook: {
        Type: 'AWS::Events::ApiDestination',
        Properties: {
          ConnectionArn: { 'Fn::GetAtt': ['Key', 'Arn'] },
          InvocationEndpoint: 'http://127.0.0.1/hook',
          HttpMethod: 'POST',
        },
      },
      Called: rule({ Arn: { 'Fn::GetAtt': ['Worker', 'Arn'] }, InputPath: '$.detail' }),
      Posted: rule({ Arn: { 'Fn::GetAtt': ['Hook', 'Arn'] } }),
    });
    const shared = { bus: 'told', pattern: { source: ['x'] } };
    const headers = { authorization: 'k' };
    expect(eventRules).toEqual([
      { id: 'Called', ...shared, target: { kind: 'function', name: 'tiny-Worker' }, path: '$.detail' },
      { id: 'Posted', ...shared, target: { kind: 'http', url: 'http://127.0.0.1/hook', method: 'POST', headers } },
    ]);
  });

  it('resolves outputs and parameters with a default', () => {
    const { outputs } = plan(
      {},
      {
        Parameters: { Suffix: { Type: 'String', Default: 'x' } },
        Outputs: { Name: { Value: { 'Fn::Join': ['-', [{ Ref: 'Log' }, { Ref: 'Suffix' }]] } } },
      },
    );
    expect(outputs).toEqual({ Name: 'tiny-Log-x' });
  });

  it('ignores resources without local work, and names unsupported ones that have work', () => {
    expect(() =>
      plan({ Alarm: { Type: 'AWS::CloudWatch::Alarm', Properties: { Threshold: { 'Fn::If': [] } } } }),
    ).not.toThrow();
    expect(() => plan({ Pipe: { Type: 'AWS::Pipes::Pipe' } })).toThrow(/Pipe is an AWS::Pipes::Pipe/);
  });

  it.each([
    [{ Type: 'AWS::DynamoDB::GlobalTable' }, /One is an AWS::DynamoDB::GlobalTable, which .* cannot run/],
    [
      { ...Log, Properties: { ...Log.Properties, LocalSecondaryIndexes: [{ IndexName: 'by_time' }] } },
      /tiny-One\.LocalSecondaryIndexes: .* global secondary index/,
    ],
    [
      { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'one.fifo', FifoQueue: true } },
      /one\.fifo\.FifoQueue: .* standard queue/,
    ],
  ])('names what would work differently here (%#)', (One, sentence) => expect(() => plan({ One })).toThrow(sentence));

  it('leaves helpers of the CDK unread, whatever functions of CloudFormation they use', () => {
    const Helper = {
      Type: 'AWS::Lambda::Function',
      Properties: { Handler: 'index.handler', Runtime: { 'Fn::FindInMap': ['Runtimes', { Ref: 'AWS::Region' }, 'v'] } },
      Metadata: { 'aws:asset:path': 'asset.helper', 'aws:asset:is-bundled': false },
    };
    expect(plan({ Helper }).functions.map(({ name }) => name)).toEqual(['tiny-Worker']);
  });

  it('names a missing bundle, and a directory that is not an assembly', () => {
    const unbundled = {
      Type: 'AWS::Lambda::Function',
      Properties: { Handler: 'a.b' },
      Metadata: { 'aws:asset:path': 'gone' },
    };
    expect(() => plan({ Unbundled: unbundled })).toThrow(/tiny-Unbundled: its bundle .*gone is missing/);
    expect(() => readAssembly('/nowhere')).toThrow(/\/nowhere\/manifest\.json cannot be read/);
  });
});

const Log = {
  Type: 'AWS::DynamoDB::Table',
  Properties: {
    KeySchema: [{ AttributeName: 'log_id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'log_id', AttributeType: 'S' }],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'work',
        KeySchema: [{ AttributeName: 'log_id', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      },
    ],
    StreamSpecification: { StreamViewType: 'NEW_IMAGE' },
    SSESpecification: { SSEEnabled: true },
  },
};

const Lane = {
  Type: 'AWS::SQS::Queue',
  Properties: {
    QueueName: 'lane',
    VisibilityTimeout: 120,
    RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['Dead', 'Arn'] }, maxReceiveCount: 5 },
  },
};

const Dead = { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'dead', MessageRetentionPeriod: 1209600 } };

function mapping(properties: object) {
  return { Type: 'AWS::Lambda::EventSourceMapping', Properties: { FunctionName: { Ref: 'Worker' }, ...properties } };
}
