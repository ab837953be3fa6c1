import { Duration, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { Deployed, verifyEnv } from '../../../functions/shared/runtime/console-env.ts';
import {
  SHARDS_KIND,
  TENANT_EMAILS_INDEX,
  VERIFICATION_KIND,
  WORK_INDEX,
} from '../../../src/adapters/dynamodb/schema.ts';
import { allow, on, readKinds, useKinds, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { continueItself, runOnSchedule } from '../function/triggers.ts';
import { laneArns, laneUrls, letterUrls } from '../lanes/channel-lanes.ts';
import type { Stage } from '../stage.ts';
import type { NewsletterTables } from '../storage/tables.ts';

interface VerificationProps extends Stage {
  readonly newsletterTables?: NewsletterTables | undefined;
}

/** Proves on the tables that nothing is lost, by schedule or when the console asks for it. It reads only. */
export class VerificationJob extends Construct {
  readonly function: ServiceFunction;

  constructor(scope: Construct, id: string, props: VerificationProps) {
    super(scope, id);
    const { config, tables, newsletterTables, encryption, channels } = props;
    const letters = Object.values(channels).map(({ deadLetters }) => deadLetters.queueArn);
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
        DEAD_LETTER_QUEUES: Stack.of(this).toJsonString(letterUrls(channels)),
        ...(newsletterTables && {
          EMAILS_TABLE: newsletterTables.emails.tableName,
          EMAIL_BATCHES_TABLE: newsletterTables.batches.tableName,
          EMAIL_RECIPIENTS_TABLE: newsletterTables.recipients.tableName,
        }),
      } satisfies Omit<Deployed<typeof verifyEnv>, 'EMAILS_TABLE' | 'EMAIL_BATCHES_TABLE' | 'EMAIL_RECIPIENTS_TABLE'>,
      permissions: [
        on(tables.log, 'Scan', 'BatchGetItem'),
        allow(['dynamodb:Query'], [`${tables.log.tableArn}/index/${WORK_INDEX}`, tables.retryLog.tableArn]),
        on(tables.content, 'Scan'),
        useKinds(tables.pipelineState, VERIFICATION_KIND),
        readKinds(tables.pipelineState, SHARDS_KIND),
        ...(newsletterTables ? readNewsletters(newsletterTables) : []),
        useTableKey(encryption.dataKey),
        allow(['sqs:GetQueueAttributes'], [...laneArns(channels), ...letters]),
      ],
    });
    continueItself(this, this.function);
    if (config.verifySchedule === 'off') return;
    runOnSchedule(this, 'Schedule', this.function, {
      config,
      what: 'verify that nothing is lost',
      schedule: config.verifySchedule,
      retryAttempts: 2,
      within: Duration.hours(1),
    });
  }
}

function readNewsletters({ emails, batches, recipients }: NewsletterTables) {
  return [
    allow(['dynamodb:Scan'], [`${emails.tableArn}/index/${TENANT_EMAILS_INDEX}`]),
    allow(['dynamodb:Query'], [emails.tableArn, batches.tableArn, recipients.tableArn]),
  ];
}
