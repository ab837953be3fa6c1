import { CHANNELS } from '../../../src/core/model/channels.ts';
import { writeAssembly, writeBundle } from './tiny-app.ts';

/**
 * A stack with each kind of resource that the runtime runs: a table with a stream, a lane with its dead-letter queue, a
 * schedule, and one function for all of them. The function appends its events to a file. The message `hang` makes it
 * hang, the message `crash` makes it exit.
 */
export function writeTinyStack(directory: string, resultFile: string): void {
  const asset = writeBundle(
    directory,
    'worker',
    `import { appendFileSync } from 'node:fs';
    export const handler = async (event) => {
      const of = (record) => record.body ?? 'row ' + record.dynamodb.Keys.log_id.S;
      const got = event.Records?.map(of) ?? ['call ' + JSON.stringify(event)];
      if (got.includes('crash')) process.exit(1);
      for (const one of got) appendFileSync(${JSON.stringify(resultFile)}, one + '\\n');
      if (got.includes('hang')) await new Promise(() => setTimeout(() => {}, 1e6));
      return { batchItemFailures: [], policy: process.env.RETRY_POLICY };
    };`,
  );
  const lane = { 'Fn::GetAtt': ['Lane', 'Arn'] };
  const json = (value: object) => JSON.stringify(value);
  const perChannel = (value: unknown) => Object.fromEntries(CHANNELS.map((channel) => [channel, value]));
  writeAssembly(directory, {
    Resources: {
      Log: {
        Type: 'AWS::DynamoDB::Table',
        Properties: {
          KeySchema: [{ AttributeName: 'log_id', KeyType: 'HASH' }],
          AttributeDefinitions: [{ AttributeName: 'log_id', AttributeType: 'S' }],
          StreamSpecification: { StreamViewType: 'NEW_IMAGE' },
        },
      },
      Dead: { Type: 'AWS::SQS::Queue', Properties: {} },
      Lane: {
        Type: 'AWS::SQS::Queue',
        Properties: {
          // Longer than a restart on a busy machine: the next runtime gets other messages before these come back.
          VisibilityTimeout: 8,
          RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['Dead', 'Arn'] }, maxReceiveCount: 5 },
        },
      },
      Worker: {
        Type: 'AWS::Lambda::Function',
        Properties: {
          Handler: 'index.handler',
          Timeout: 30,
          Environment: {
            Variables: {
              POWERTOOLS_SERVICE_NAME: 'worker',
              SWEEP_INTERVAL_SECONDS: '3600',
              RETRY_POLICY: json({ base_interval_seconds: 300, max_retries: {} }),
            },
          },
        },
        Metadata: { 'aws:asset:path': asset },
      },
      FromLane: mapping({ EventSourceArn: lane, FunctionResponseTypes: ['ReportBatchItemFailures'], BatchSize: 1 }),
      FromStream: mapping({ EventSourceArn: { 'Fn::GetAtt': ['Log', 'StreamArn'] } }),
      Schedule: {
        Type: 'AWS::Events::Rule',
        Properties: {
          ScheduleExpression: 'cron(30 * * * ? *)',
          Targets: [{ Id: 'x', Arn: { 'Fn::GetAtt': ['Worker', 'Arn'] } }],
        },
      },
    },
    Outputs: {
      NotificationLogTable: { Value: { Ref: 'Log' } },
      NotificationContentTable: { Value: { Ref: 'Log' } },
      NotificationRetryLogTable: { Value: { Ref: 'Log' } },
      PipelineStateTable: { Value: { Ref: 'Log' } },
      ApiKeysTable: { Value: { Ref: 'Log' } },
      AuditTable: { Value: { Ref: 'Log' } },
      NewslettersTable: { Value: { Ref: 'Log' } },
      MembersTable: { Value: { Ref: 'Log' } },
      EmailsTable: { Value: { Ref: 'Log' } },
      EmailBatchesTable: { Value: { Ref: 'Log' } },
      EmailRecipientsTable: { Value: { Ref: 'Log' } },
      DataKeysTable: { Value: { Ref: 'Log' } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own placeholder
      LaneQueues: { Value: { 'Fn::Sub': json(perChannel({ express: '${Lane}', standard: 'http://unused' })) } },
      DeadLetterQueues: { Value: json(perChannel('http://unused')) },
      RetryPolicy: { Value: json({ base_interval_seconds: 300 }) },
    },
  });
}

function mapping(properties: object) {
  return { Type: 'AWS::Lambda::EventSourceMapping', Properties: { FunctionName: { Ref: 'Worker' }, ...properties } };
}
