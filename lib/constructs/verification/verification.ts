import { Duration, Stack } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Policy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { VerifyEnv } from '../../../functions/shared/runtime/console-env.ts';
import { TENANT_EMAILS_INDEX, VERIFICATION_KIND, WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, readShards, useKind, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { type Channels, laneArns, laneUrls } from '../lanes/lane-queues.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NewsletterTables } from '../storage/newsletter-tables.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

export interface VerificationProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly newsletterTables?: NewsletterTables | undefined;
  readonly encryption: Encryption;
  readonly channels: Channels;
}

/** Proves on the tables that nothing is lost, by schedule or when the console asks for it. It reads only. */
export class VerificationJob extends Construct {
  readonly function: ServiceFunction;

  constructor(scope: Construct, id: string, props: VerificationProps) {
    super(scope, id);
    const { config, tables, newsletterTables, encryption, channels } = props;
    const letters = Object.entries(channels).map(([channel, { deadLetters }]) => [channel, deadLetters] as const);
    this.function = new ServiceFunction(this, 'Verify', {
      config,
      name: 'verify',
      description: 'Verifies that nothing is lost, and that all sums add up',
      timeout: Duration.minutes(15),
      allowRecursion: true,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
        NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        DEAD_LETTER_QUEUES: Stack.of(this).toJsonString(
          Object.fromEntries(letters.map(([channel, { queueUrl }]) => [channel, queueUrl])),
        ),
        ...(newsletterTables && {
          EMAILS_TABLE: newsletterTables.emails.tableName,
          EMAIL_BATCHES_TABLE: newsletterTables.batches.tableName,
          EMAIL_RECIPIENTS_TABLE: newsletterTables.recipients.tableName,
        }),
      } satisfies Omit<VerifyEnv, 'EMAILS_TABLE' | 'EMAIL_BATCHES_TABLE' | 'EMAIL_RECIPIENTS_TABLE'>,
      permissions: [
        allow(['dynamodb:Scan', 'dynamodb:BatchGetItem'], [tables.log.tableArn]),
        allow(['dynamodb:Query'], [`${tables.log.tableArn}/index/${WORK_INDEX}`, tables.retryLog.tableArn]),
        allow(['dynamodb:Scan'], [tables.content.tableArn]),
        useKind(tables.pipelineState, VERIFICATION_KIND),
        readShards(tables.pipelineState),
        ...(newsletterTables
          ? [
              allow(['dynamodb:Scan'], [`${newsletterTables.emails.tableArn}/index/${TENANT_EMAILS_INDEX}`]),
              allow(
                ['dynamodb:Query'],
                [newsletterTables.emails, newsletterTables.batches, newsletterTables.recipients].map(
                  ({ tableArn }) => tableArn,
                ),
              ),
            ]
          : []),
        useTableKey(encryption.dataKey),
        allow(['sqs:GetQueueAttributes'], [...laneArns(channels), ...letters.map(([, { queueArn }]) => queueArn)]),
      ],
    });
    // In a separate policy, as for the dispatcher (sweep.ts).
    new Policy(this, 'Continuation', {
      statements: [allow(['lambda:InvokeFunction'], [this.function.functionArn])],
      roles: [this.function.executionRole],
    });
    if (config.verifySchedule === 'off') return;
    new Rule(this, 'Schedule', {
      description: `notification-retry ${config.stage}: verify that nothing is lost`,
      schedule: Schedule.expression(config.verifySchedule),
      targets: [new LambdaFunction(this.function, { retryAttempts: 2, maxEventAge: Duration.hours(1) })],
    });
  }
}
