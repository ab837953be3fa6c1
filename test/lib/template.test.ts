import { Match, Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { NEWSLETTER_TABLES, TABLES } from '../../src/adapters/dynamodb/schema.ts';
import { MAX_STATEMENTS } from '../../src/adapters/dynamodb/table/statements.ts';
import { CHANNELS, LANES } from '../../src/core/model/channels.ts';
import { httpApiFrom } from '../../src/local/emulator/template/http-apis.ts';
import type { JsonObject } from '../../src/local/support/json.ts';
import { STAGES } from '../support/lib/stages.ts';
import { FUNCTIONS, resourcesOf, stackOf, templateOf } from '../support/lib/synthesize.ts';

let template: Template;
beforeAll(() => {
  template = templateOf({ stage: 'dev', 'notification-retry.concurrency.teams.express': 7 });
});

it('says of every schedule, and of the function of every event source, of which stage it is', () => {
  const functions = new Map(
    resourcesOf(template, 'AWS::Lambda::Function').map(({ id, properties }) => [id, properties]),
  );
  const read = resourcesOf(template, 'AWS::Lambda::EventSourceMapping').map(({ properties }) =>
    functions.get(Object(properties['FunctionName']).Ref),
  );
  const scheduled = resourcesOf(template, 'AWS::Events::Rule').map(({ properties }) => properties);
  const all = [...read, ...scheduled.filter((one) => one['ScheduleExpression'] !== undefined)];
  expect(all.length).toBeGreaterThan(10);
  for (const one of all) expect(one?.['Description']).toMatch(/^notification-retry dev: ./);
});

describe('every table', () => {
  it.each(Object.entries({ ...TABLES, ...NEWSLETTER_TABLES }))(
    '%s is deployed as the schema describes it',
    (_, schema) => {
      const keys = ['sortKey' in schema ? [schema.partitionKey, schema.sortKey] : [schema.partitionKey]].flat();

      template.hasResourceProperties('AWS::DynamoDB::Table', {
        KeySchema: keys.map(({ name }, position) => ({
          AttributeName: name,
          KeyType: position === 0 ? 'HASH' : 'RANGE',
        })),
        AttributeDefinitions: Match.arrayWith(
          keys.map(({ name, type }) => ({ AttributeName: name, AttributeType: type })),
        ),
        TimeToLiveSpecification:
          'ttlAttribute' in schema ? { AttributeName: schema.ttlAttribute, Enabled: true } : Match.absent(),
        ...('stream' in schema ? { StreamSpecification: { StreamViewType: schema.stream } } : {}),
      });
    },
  );

  it('is billed on demand, recoverable, and encrypted with a key of ours that rotates', () => {
    const tables = resourcesOf(template, 'AWS::DynamoDB::Table');
    expect(tables).toHaveLength(Object.keys({ ...TABLES, ...NEWSLETTER_TABLES }).length);
    for (const { properties } of tables) {
      expect(properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        SSESpecification: {
          SSEEnabled: true,
          SSEType: 'KMS',
          KMSMasterKeyId: { 'Fn::GetAtt': [expect.stringContaining('DataKey'), 'Arn'] },
        },
      });
    }
    template.allResourcesProperties('AWS::KMS::Key', { EnableKeyRotation: true });
  });

  it('has its indexes, with nothing in the work index that a claim changes', () => {
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      GlobalSecondaryIndexes: [
        {
          IndexName: 'work_index',
          KeySchema: [
            { AttributeName: 'work_queue', KeyType: 'HASH' },
            { AttributeName: 'work_at', KeyType: 'RANGE' },
          ],
          Projection: {
            ProjectionType: 'INCLUDE',
            NonKeyAttributes: ['channel', 'priority', 'tenant_id', 'queued_for'],
          },
        },
        { IndexName: 'notification_index', Projection: { ProjectionType: 'KEYS_ONLY' } },
        { IndexName: 'history_index', Projection: { ProjectionType: 'INCLUDE' } },
      ].map((index) => Match.objectLike(index)),
    });
  });
});

describe('what a deleted stack leaves', () => {
  it('is nothing in dev', () => {
    const tables = resourcesOf(template, 'AWS::DynamoDB::Table');
    expect(tables.map(({ properties }) => properties['DeletionProtectionEnabled'])).not.toContain(true);
    expect(tables.map(({ deletionPolicy }) => deletionPolicy)).toEqual(tables.map(() => 'Delete'));
  });

  it('is tables, keys, the hash secret and logs in prod, where tables refuse to be deleted', () => {
    const prod = templateOf({ stage: 'prod' });

    for (const { properties } of resourcesOf(prod, 'AWS::DynamoDB::Table')) {
      expect(properties['DeletionProtectionEnabled']).toBe(true);
    }
    const policiesOf = (type: string) => new Set(resourcesOf(prod, type).map(({ deletionPolicy }) => deletionPolicy));
    expect(policiesOf('AWS::DynamoDB::Table')).toEqual(new Set(['Retain']));
    for (const type of ['AWS::KMS::Key', 'AWS::SecretsManager::Secret', 'AWS::Logs::LogGroup']) {
      // A first deployment that fails leaves none of these, which would be paid for and hold nothing.
      expect(policiesOf(type), type).toEqual(new Set(['RetainExceptOnCreate']));
    }
  });

  it.each([
    ['production', true, 'Retain', true],
    ['prod', false, 'Delete', false],
  ])('is what `retain` says, whatever the name: %s with %s', (stage, retain, policy, deletionProtection) => {
    const context = { stages: { [stage]: { senderAddress: 'noreply@your-domain.jp', retain } } };
    const stack = stackOf({ stage, 'notification-retry': context });

    for (const { deletionPolicy, properties } of resourcesOf(Template.fromStack(stack), 'AWS::DynamoDB::Table')) {
      expect({ deletionPolicy, protected: properties['DeletionProtectionEnabled'] ?? false }).toEqual({
        deletionPolicy: policy,
        protected: deletionProtection,
      });
    }
    expect(stack.terminationProtection).toBe(retain);
  });
});

describe('every lane', () => {
  const lanes = CHANNELS.flatMap((channel) => LANES.map((lane) => [channel, lane] as const));

  it.each(lanes)(
    '%s-%s has a visibility timeout beyond its function’s timeout, and the channel’s dead-letter queue',
    (channel, lane) => {
      const queue = queueNamed(`notification-retry-dev-${channel}-${lane}`);
      const [sender] = functionsNamed(`send-${channel}`);

      expect(queue['VisibilityTimeout']).toBeGreaterThanOrEqual(
        6 * Number(sender?.['Timeout']) + (lane === 'express' ? 0 : 1),
      );
      expect(queue['MessageRetentionPeriod']).toBe(4 * 86_400);
      expect(queue['RedrivePolicy']).toEqual({
        maxReceiveCount: 5,
        deadLetterTargetArn: { 'Fn::GetAtt': [idOf(`notification-retry-dev-${channel}-dead-letter`), 'Arn'] },
      });
    },
  );

  it.each(lanes)('%s-%s starts its function with batches in which each message fails by itself', (channel, lane) => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': [idOf(`notification-retry-dev-${channel}-${lane}`), 'Arn'] },
      // As many claims as one call to DynamoDB takes, or what one receive of SQS gives.
      BatchSize: channel === 'webhook' && lane === 'standard' ? MAX_STATEMENTS : 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: Match.anyValue() },
    });
  });

  it.each(lanes)('lets %s-%s wait a second for a full batch, and urgent mail for none', (channel, lane) => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': [idOf(`notification-retry-dev-${channel}-${lane}`), 'Arn'] },
      MaximumBatchingWindowInSeconds: channel === 'email' && lane === 'express' ? 0 : 1,
    });
  });

  it('fills its batches as configured, and waits for the window before it shows a message again', () => {
    const configured = templateOf({
      stage: 'dev',
      'notification-retry.batchSize.webhook.standard': 50,
      'notification-retry.batchWindowSeconds.webhook.standard': 3,
    });
    configured.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 50,
      MaximumBatchingWindowInSeconds: 3,
    });
    configured.hasResourceProperties('AWS::SQS::Queue', {
      QueueName: 'notification-retry-dev-webhook-standard',
      VisibilityTimeout: 6 * 60 + 3,
    });
  });

  it('runs as many batches at once as configured', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': [idOf('notification-retry-dev-teams-express'), 'Arn'] },
      ScalingConfig: { MaximumConcurrency: 7 },
    });
  });

  it.each(CHANNELS)('of %s may move messages there, and no other queue', (channel) => {
    const { MessageRetentionPeriod, RedriveAllowPolicy, RedrivePolicy } = queueNamed(
      `notification-retry-dev-${channel}-dead-letter`,
    );

    expect(MessageRetentionPeriod).toBe(14 * 86_400);
    expect(RedrivePolicy).toBeUndefined();
    expect(RedriveAllowPolicy).toEqual({
      redrivePermission: 'byQueue',
      sourceQueueArns: LANES.map((lane) => ({
        'Fn::Join': ['', expect.arrayContaining([`:notification-retry-dev-${channel}-${lane}`])],
      })),
    });
  });

  it('is encrypted, like every queue, and refuses unencrypted connections', () => {
    const queues = resourcesOf(template, 'AWS::SQS::Queue');
    template.allResourcesProperties('AWS::SQS::Queue', { SqsManagedSseEnabled: true });
    for (const { id } of queues) {
      template.hasResourceProperties('AWS::SQS::QueuePolicy', {
        Queues: [{ Ref: id }],
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          ]),
        },
      });
    }
  });
});

describe('every function', () => {
  it('runs on Node.js 24 on arm64 with 256 MB, or 512 MB for the job of newsletters and the monitor, and logs into a group with a retention', () => {
    const functions = resourcesOf(template, 'AWS::Lambda::Function');
    expect(functions).toHaveLength(FUNCTIONS.length);
    for (const { properties } of functions) {
      const large = /"(newsletter-(prepare|send)|monitor)"/.test(JSON.stringify(properties['Environment']));
      const MemorySize = large ? 512 : 256;
      expect(properties).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'], MemorySize });
      expect(properties).toHaveProperty('LoggingConfig.LogGroup.Ref');
    }
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 7 });
  });

  it('has the path of its code in the template, for the local runtime', () => {
    for (const { metadata } of resourcesOf(template, 'AWS::Lambda::Function')) {
      expect(metadata).toMatchObject({
        'aws:asset:path': expect.any(String),
        'aws:asset:property': 'Code',
        'aws:cdk:path': expect.stringContaining('NotificationRetry/'),
      });
    }
  });

  it.each(CHANNELS)('send-%s has claims that outlive it', (channel) => {
    const [sender] = functionsNamed(`send-${channel}`);
    const { CLAIM_SECONDS, SEND_TIMEOUT_SECONDS } = variablesOf(sender);

    expect(Number(CLAIM_SECONDS)).toBeGreaterThan(Number(sender?.['Timeout']));
    expect(Number(SEND_TIMEOUT_SECONDS)).toBeLessThan(Number(sender?.['Timeout']));
  });

  it.each(['dispatcher', ...CHANNELS.map((channel) => `send-${channel}`)])(
    '%s may start itself again and again: what a rate limit sends round is no runaway',
    (service) => expect(functionsNamed(service)).toEqual([expect.objectContaining({ RecursiveLoop: 'Allow' })]),
  );

  it('is stopped by Lambda in a loop, if it does not need loops', () => {
    expect(functionsNamed('due-indexer')).toEqual([expect.not.objectContaining({ RecursiveLoop: 'Allow' })]);
  });

  it('shares the concurrency of the account, unless the stage keeps some for dispatcher and senders', () => {
    const reserved = (stage: Template) =>
      Object.fromEntries(
        resourcesOf(stage, 'AWS::Lambda::Function').flatMap(({ properties }) => {
          const kept = properties['ReservedConcurrentExecutions'];
          return kept === undefined
            ? []
            : [[Object(properties['Environment']).Variables['POWERTOOLS_SERVICE_NAME'], kept]];
        }),
      );
    expect(reserved(template)).toEqual({});
    const stage = templateOf({
      'notification-retry.reservedConcurrency': '{"accountLimit":1000}',
      'notification-retry.concurrency.slack.express': '7',
    });
    expect(reserved(stage)).toEqual({
      dispatcher: 5,
      'send-email': 15,
      'send-slack': 9,
      'send-teams': 4,
      'send-webhook': 30,
    });
  });

  it('posts to port 443, and to the ports of its stage', () => {
    const ports = (stage: Template) =>
      CHANNELS.map((channel) =>
        functionsNamed(`send-${channel}`, stage).map((sender) => variablesOf(sender)['WEBHOOK_PORTS']),
      );
    expect(ports(template)).toEqual([[undefined], ['443'], ['443'], ['443']]);
    expect(ports(templateOf({ 'notification-retry.webhookPorts': '[8443,9443]' }))[3]).toEqual(['443,8443,9443']);
  });

  it('gets the limits and intervals of its stage', () => {
    const stage = templateOf({ 'notification-retry.baseIntervalSeconds': 2, 'notification-retry.maxRetries.info': 9 });
    const expected = { base_interval_seconds: 2, max_retries: { info: 9, urgent: 10 }, retention_hours: { info: 3 } };

    const written = functionsNamed('send-slack', stage).map((sender) => String(variablesOf(sender)['RETRY_POLICY']));
    expect(written.map((policy) => JSON.parse(policy))).toEqual([
      expect.objectContaining({ max_retries: expect.objectContaining(expected.max_retries) }),
    ]);
    expect(JSON.parse(String(stage.findOutputs('RetryPolicy')['RetryPolicy']?.['Value']))).toMatchObject(expected);
  });
});

describe('a scheduled function', () => {
  it('lets go what comes too late also where Lambda kept it: what EventBridge allows ends when Lambda has the event', () => {
    const all = templateOf(STAGES.everything);
    const serviceOf = new Map(
      resourcesOf(all, 'AWS::Lambda::Function').map(({ id, properties }) => [
        id,
        Object(properties['Environment'])['Variables']?.POWERTOOLS_SERVICE_NAME,
      ]),
    );
    const kept = resourcesOf(all, 'AWS::Lambda::EventInvokeConfig').map(({ properties }) => [
      serviceOf.get(Object(properties['FunctionName'])['Ref']),
      [properties['MaximumEventAgeInSeconds'], properties['MaximumRetryAttempts']],
    ]);
    expect(Object.fromEntries(kept)).toEqual({
      dispatcher: [1860, 2],
      monitor: [300, 0],
      'newsletter-clock': [60, 0],
      reconciler: [4560, 2],
      verify: [4560, 2],
    });
  });
});

describe('the sweep', () => {
  it('runs every hour at minute 30, with EventBridge’s own event, and is retried if Lambda fails', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'cron(30 * * * ? *)',
      State: 'ENABLED',
      Targets: [
        Match.objectLike({
          Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('Dispatcher'), 'Arn'] },
          Input: Match.absent(),
          InputTransformer: Match.absent(),
          RetryPolicy: { MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 900 },
        }),
      ],
    });
  });

  it('queues every five minutes what others made urgent, unless the sweeps are as frequent or the stage does not want it', () => {
    const express = (context: Readonly<Record<string, unknown>>) =>
      resourcesOf(templateOf({ stage: 'dev', ...context }), 'AWS::Events::Rule')
        .filter(({ properties }) => JSON.stringify(properties).includes('express_minutes'))
        .map(({ properties }) => [properties['ScheduleExpression'], Object(properties['Targets'])[0].Input]);
    expect(express({})).toEqual([['rate(5 minutes)', '{"express_minutes":5}']]);
    expect(express({ 'notification-retry.urgentSweepMinutes': 1 })).toEqual([
      ['rate(1 minute)', '{"express_minutes":1}'],
    ]);
    expect(express({ 'notification-retry.urgentSweepMinutes': 0 })).toEqual([]);
    expect(express({ 'notification-retry.schedule': 'rate(5 minutes)' })).toEqual([]);
  });

  it('queues ahead between the runs, as far as SQS can delay a message', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'cron(0,15,45 * * * ? *)',
      Targets: [
        Match.objectLike({
          Arn: { 'Fn::GetAtt': [Match.stringLikeRegexp('Dispatcher'), 'Arn'] },
          Input: '{"ahead":true}',
        }),
      ],
    });
  });

  it('tells the dispatcher how long its schedule pauses', () => {
    const often = templateOf({ 'notification-retry.schedule': 'rate(10 minutes)' });

    expect(functionsNamed('dispatcher', often).map(variablesOf)).toMatchObject([{ SWEEP_INTERVAL_SECONDS: '600' }]);
    often.hasResourceProperties('AWS::Events::Rule', { ScheduleExpression: 'rate(10 minutes)' });
    often.hasOutput('SweepIntervalSeconds', { Value: '600' });
    const looks = resourcesOf(often, 'AWS::Events::Rule').filter(({ properties }) =>
      JSON.stringify(properties).includes('ahead'),
    );
    expect(looks).toEqual([]);
  });
});

describe('the stream of NotificationLog', () => {
  it('is read from its beginning, and rows that cannot be taken in before the stream drops them wait for an operator', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('TablesLog'), 'StreamArn'] },
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 100,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MaximumRetryAttempts: Match.absent(),
      MaximumRecordAgeInSeconds: 23 * 3600,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('Failures'), 'Arn'] } } },
      FilterCriteria: { Filters: Match.anyValue() },
    });
  });
});

describe('the API', () => {
  it('requires a key on every route but the document, unsubscribe links and unknown paths, and caches the check for a minute at most', () => {
    const open = resourcesOf(template, 'AWS::ApiGatewayV2::Route').filter(
      ({ properties }) => properties['AuthorizationType'] !== 'CUSTOM',
    );
    expect(open.map(({ properties }) => properties['RouteKey']).sort()).toEqual([
      '$default',
      'GET /u/{token+}',
      'GET /v1/openapi.json',
      'HEAD /u/{token+}',
      'POST /u/{token+}',
    ]);
    const [authorizer] = resourcesOf(template, 'AWS::ApiGatewayV2::Authorizer');
    expect(authorizer?.properties).toMatchObject({
      AuthorizerType: 'REQUEST',
      IdentitySource: ['$request.header.Authorization'],
      EnableSimpleResponses: true,
    });
    expect(authorizer?.properties['AuthorizerResultTtlInSeconds']).toBeLessThanOrEqual(60);
  });

  it('lets pages of the configured origins call it, with tokens and without cookies; of none unless configured', () => {
    const [closed] = resourcesOf(template, 'AWS::ApiGatewayV2::Api');
    expect(closed?.properties).not.toHaveProperty('CorsConfiguration');
    const origins = ['https://app.your-domain.example', 'http://localhost:5173'];
    const open = templateOf({ stage: 'dev', 'notification-retry.api.corsOrigins': JSON.stringify(origins) });
    const [api] = resourcesOf(open, 'AWS::ApiGatewayV2::Api');
    expect(api?.properties['CorsConfiguration']).toEqual({
      AllowOrigins: origins,
      AllowMethods: ['GET', 'POST'],
      AllowHeaders: ['authorization', 'content-type', 'idempotency-key', 'traceparent'],
      ExposeHeaders: ['idempotent-replayed', 'retry-after'],
      MaxAge: 3600,
    });
    // The local runtime reads the same from the template.
    const named = { id: 'Api', ref: 'Api', properties: api?.properties as JsonObject };
    expect(httpApiFrom([], [], [], [named]).cors).toMatchObject({ origins, methods: ['GET', 'POST'] });
  });

  it('lets each route without a key have a small rate of its own, once the route is there', () => {
    const open = resourcesOf(template, 'AWS::ApiGatewayV2::Route').filter(
      ({ properties }) => properties['AuthorizationType'] === 'NONE',
    );
    const [stage] = Object.values(template.findResources('AWS::ApiGatewayV2::Stage'));
    const limits = stage?.['Properties'].RouteSettings as Record<string, { ThrottlingRateLimit: number }>;
    expect(Object.keys(limits).sort()).toEqual(open.map(({ properties }) => properties['RouteKey']).sort());
    expect(open.length).toBeGreaterThan(3);
    for (const { ThrottlingRateLimit } of Object.values(limits)) expect(ThrottlingRateLimit).toBeLessThanOrEqual(100);
    expect(stage?.['DependsOn']).toEqual(expect.arrayContaining(open.map(({ id }) => id)));
  });

  it('is throttled as configured, and logs the caller but not the request', () => {
    const limited = templateOf({
      stage: 'dev',
      'notification-retry.api.rateLimit': 7,
      'notification-retry.api.burstLimit': 9,
    });
    limited.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      StageName: '$default',
      DefaultRouteSettings: { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 9 },
      RouteSettings: { $default: { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 9 } },
    });
    const [stage] = resourcesOf(template, 'AWS::ApiGatewayV2::Stage');
    const format = JSON.stringify(Object(stage?.properties['AccessLogSettings']).Format);
    expect(format).toContain('tenant_id');
    expect(format).not.toMatch(/request\.(header|body)|context\.path/i);
  });
});

describe('the outputs', () => {
  it('name what the job and operators need', () => {
    expect(Object.keys(template.findOutputs('*')).sort()).toEqual([
      'AlertsTopic',
      'ApiKeysTable',
      'ApiUrl',
      'AuditTable',
      'BatchConcurrency',
      'DataKey',
      'DataKeysTable',
      'DeadLetterQueues',
      'DeliveryEventFailures',
      'DispatcherFunction',
      'DueIndexerFailures',
      'EmailBatchesTable',
      'EmailRecipientsTable',
      'EmailsTable',
      'IntegrationSecretPrefix',
      'LaneQueues',
      'MembersTable',
      'MetricNamespace',
      'NewsletterConfigurationSet',
      'NewsletterQueues',
      'NewslettersTable',
      'NotificationContentTable',
      'NotificationLogTable',
      'NotificationRetryLogTable',
      'OwnSendersOnly',
      'PipelineStateTable',
      'RecipientHashSecret',
      'RecipientKey',
      'ReconcilerFunction',
      'RequireAddress',
      'RetryPolicy',
      'SweepIntervalSeconds',
      'UncertainMinutes',
    ]);
  });

  it('give the queues of every channel', () => {
    const lanes = JSON.parse(withIds(template.findOutputs('LaneQueues')['LaneQueues']?.['Value']));
    const dead = JSON.parse(withIds(template.findOutputs('DeadLetterQueues')['DeadLetterQueues']?.['Value']));

    for (const channel of CHANNELS) {
      for (const lane of LANES) expect(lanes[channel][lane]).toBe(idOf(`notification-retry-dev-${channel}-${lane}`));
      expect(dead[channel]).toBe(idOf(`notification-retry-dev-${channel}-dead-letter`));
    }
  });
});

const queueNamed = (name: string): Readonly<Record<string, unknown>> => resourceNamed(name).properties;

const idOf = (name: string): string => resourceNamed(name).id;

function resourceNamed(name: string) {
  const queue = resourcesOf(template, 'AWS::SQS::Queue').find(({ properties }) => properties['QueueName'] === name);
  if (queue === undefined) throw new Error(`no queue is named ${name}`);
  return queue;
}

function functionsNamed(service: string, from = template) {
  const all = resourcesOf(from, 'AWS::Lambda::Function').map(({ properties }) => properties);
  return all.filter((properties) => variablesOf(properties)['POWERTOOLS_SERVICE_NAME'] === service);
}

function variablesOf(properties: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  return Object(Object(properties?.['Environment'])['Variables']);
}

/** A joined value in which the id of the resource replaces each reference. */
function withIds(value: unknown): string {
  const [, parts] = Object(value)['Fn::Join'];
  return parts.map((part: unknown) => (typeof part === 'string' ? part : Object(part)['Ref'])).join('');
}
