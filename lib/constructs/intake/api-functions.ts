import { Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type {
  apiAuthorizerEnv,
  apiIntakeEnv,
  apiNotificationsEnv,
  apiTokensEnv,
  Deployed,
} from '../../../functions/shared/runtime/env.ts';
import type {
  apiEmailsEnv,
  apiNewslettersEnv,
  unsubscribeEnv,
} from '../../../functions/shared/runtime/newsletter-env.ts';
import { HISTORY_INDEX, NOTIFICATION_INDEX, SHARDS_KIND } from '../../../src/adapters/dynamodb/schema.ts';
import { NOTES, SEALED } from '../../../src/core/model/notification.ts';
import { indexShardsJson, pacingJson, retryPolicyJson } from '../../config/settings-json.ts';
import {
  allow,
  changeNewsletters,
  countRequests,
  on,
  openRecipients,
  passRole,
  queryIndexes,
  readColumns,
  readKinds,
  readSecrets,
  sealRecipients,
  useKeyBy,
  useKinds,
  useTableKey,
} from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { laneArns, laneUrls } from '../lanes/channel-lanes.ts';
import { jobEnvironment, recipientEnvironment, sendMessages } from '../newsletter/job-access.ts';
import { allowBulk, emailRights, newsletterConfigurationSet } from '../newsletter/newsletter-sending.ts';
import type { NewsletterStage, Stage } from '../stage.ts';
import type { StageStorage } from '../storage/tables.ts';

/** API Gateway waits 30 s for a function; producers wait for less. */
export const API_TIMEOUT = Duration.seconds(20);

/** The function behind the routes that accept notifications and reported failures. */
export function intakeFunction(scope: Construct, { config, tables, encryption, channels }: Stage): ServiceFunction {
  return new ServiceFunction(scope, 'Intake', {
    config,
    name: 'api-intake',
    description: 'Takes notifications and reported failures in, each once for its idempotency key',
    timeout: API_TIMEOUT,
    environment: {
      NOTIFICATION_LOG_TABLE: tables.log.tableName,
      NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
      NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      DATA_KEYS_TABLE: tables.dataKeys.tableName,
      LANE_QUEUES: Stack.of(scope).toJsonString(laneUrls(channels)),
      INDEX_SHARDS: indexShardsJson(config),
      RETRY_POLICY: retryPolicyJson(config),
      RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
      RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    } satisfies Deployed<typeof apiIntakeEnv>,
    permissions: [
      on(tables.log, 'GetItem', 'PutItem', 'UpdateItem', 'PartiQLUpdate'),
      on(tables.content, 'GetItem', 'PutItem', 'UpdateItem'),
      on(tables.retryLog, 'GetItem', 'PartiQLInsert', 'PutItem', 'Query'),
      countRequests(tables.pipelineState),
      useKinds(tables.pipelineState, SHARDS_KIND),
      useTableKey(encryption.dataKey),
      ...sealRecipients(encryption, tables),
      ...readSecrets(encryption, encryption.recipientHashSecret),
      allow(['sqs:SendMessage'], laneArns(channels)),
    ],
  });
}

/** The function that checks a request's API key, or the token of a web page. */
export function authorizerFunction(scope: Construct, { config, tables, encryption }: StageStorage): ServiceFunction {
  return new ServiceFunction(scope, 'KeyCheck', {
    config,
    name: 'api-authorizer',
    description: "Says whose API key a request's is",
    timeout: Duration.seconds(10),
    environment: {
      API_KEYS_TABLE: tables.apiKeys.tableName,
      TOKEN_SECRET: encryption.tokenSecret.secretArn,
    } satisfies Deployed<typeof apiAuthorizerEnv>,
    permissions: [
      on(tables.apiKeys, 'GetItem'),
      useKeyBy('dynamodb', encryption.dataKey, ['kms:Decrypt', 'kms:DescribeKey']),
      ...readSecrets(encryption, encryption.tokenSecret),
    ],
  });
}

/** The function that signs tokens for web pages. It reads no table of notifications. */
export function tokensFunction(scope: Construct, { config, tables, encryption }: StageStorage): ServiceFunction {
  return new ServiceFunction(scope, 'Tokens', {
    config,
    name: 'api-tokens',
    description: 'Signs short-lived tokens for web pages of producers',
    timeout: API_TIMEOUT,
    environment: {
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      TOKEN_SECRET: encryption.tokenSecret.secretArn,
    } satisfies Deployed<typeof apiTokensEnv>,
    permissions: [
      countRequests(tables.pipelineState),
      useTableKey(encryption.dataKey),
      ...readSecrets(encryption, encryption.tokenSecret),
    ],
  });
}

/** The function behind the unsubscribe links, which need no API key. */
export function unsubscribeFunction(scope: Construct, props: NewsletterStage): ServiceFunction {
  const { config, tables, newsletterTables, encryption } = props;
  const { emails, batches, recipients, members } = newsletterTables;
  const { recipientHashSecret, unsubscribeSecret } = encryption;
  return new ServiceFunction(scope, 'Unsubscribe', {
    config,
    name: 'unsubscribe',
    description: 'Unsubscribes members by the signed links of their mails',
    timeout: API_TIMEOUT,
    environment: {
      ...recipientEnvironment(props),
      RECIPIENT_HASH_SECRET: recipientHashSecret.secretArn,
      UNSUBSCRIBE_SECRET: unsubscribeSecret.secretArn,
    } satisfies Deployed<typeof unsubscribeEnv>,
    permissions: [
      allow(['dynamodb:GetItem'], [emails.tableArn, recipients.tableArn]),
      on(batches, 'GetItem', 'UpdateItem'),
      on(members, 'BatchGetItem', 'UpdateItem'),
      useTableKey(encryption.dataKey),
      ...openRecipients(encryption, tables, SEALED.members),
      ...readSecrets(encryption, recipientHashSecret, unsubscribeSecret),
    ],
  });
}

/** The function behind the routes that show notifications and retry them. */
export function notificationsFunction(
  scope: Construct,
  { config, tables, encryption, channels, newsletters }: Stage,
): ServiceFunction {
  return new ServiceFunction(scope, 'Notifications', {
    config,
    name: 'api-notifications',
    description: 'Tells where notifications stand, and has them retried',
    timeout: API_TIMEOUT,
    environment: {
      NOTIFICATION_LOG_TABLE: tables.log.tableName,
      NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
      NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      LANE_QUEUES: Stack.of(scope).toJsonString(laneUrls(channels)),
      RETRY_POLICY: retryPolicyJson(config),
      WITHOUT_NEWSLETTERS: String(newsletters === undefined),
    } satisfies Deployed<typeof apiNotificationsEnv>,
    permissions: [
      on(tables.log, 'BatchGetItem', 'UpdateItem', 'PartiQLUpdate'),
      readColumns(tables.content, ['log_id', 'tenant_id', ...NOTES]),
      on(tables.retryLog, 'Query'),
      queryIndexes(tables.log, HISTORY_INDEX, NOTIFICATION_INDEX),
      countRequests(tables.pipelineState),
      readKinds(tables.pipelineState, SHARDS_KIND),
      useTableKey(encryption.dataKey),
      allow(['sqs:SendMessage'], laneArns(channels)),
    ],
  });
}

/** The function behind the routes of newsletters and members. */
export function newslettersFunction(
  scope: Construct,
  { config, tables, newsletterTables, encryption }: NewsletterStage,
): ServiceFunction {
  return new ServiceFunction(scope, 'Newsletters', {
    config,
    name: 'api-newsletters',
    description: 'Keeps newsletters and their members',
    timeout: API_TIMEOUT,
    environment: {
      NEWSLETTERS_TABLE: newsletterTables.newsletters.tableName,
      OWN_SENDERS_ONLY: String(config.newsletter.ownSendersOnly),
      MEMBERS_TABLE: newsletterTables.members.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      DATA_KEYS_TABLE: tables.dataKeys.tableName,
      RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
      RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    } satisfies Deployed<typeof apiNewslettersEnv>,
    permissions: [
      on(newsletterTables.newsletters, 'GetItem', 'Query'),
      changeNewsletters(newsletterTables.newsletters),
      // No Scan, and no Delete: a member that was deleted leaves a mark.
      on(newsletterTables.members, 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'PartiQLInsert', 'PartiQLUpdate'),
      countRequests(tables.pipelineState),
      useTableKey(encryption.dataKey),
      ...sealRecipients(encryption, tables, SEALED.members),
      ...readSecrets(encryption, encryption.recipientHashSecret),
    ],
  });
}

/** The function behind the routes of emails: publish, status, operators' decisions, test mails. */
export function emailsApiFunction(scope: Construct, props: NewsletterStage): ServiceFunction {
  const { config, tables, newsletterTables, encryption, newsletterQueues } = props;
  const { newsletters } = newsletterTables;
  const schedules = newsletterQueues.scheduleArns;
  return new ServiceFunction(scope, 'Emails', {
    config,
    name: 'api-emails',
    description: 'Publishes emails, tells how far they are, and takes decisions about them',
    timeout: API_TIMEOUT,
    environment: {
      ...jobEnvironment(props),
      ...recipientEnvironment(props),
      NEWSLETTERS_TABLE: newsletters.tableName,
      OWN_SENDERS_ONLY: String(config.newsletter.ownSendersOnly),
      REQUIRE_ADDRESS: String(config.newsletter.requireAddress),
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      PACING: pacingJson(config, config.newsletter.totalConcurrency),
      SCHEDULE_GROUP: newsletterQueues.scheduleGroupName,
      SCHEDULE_ROLE_ARN: newsletterQueues.scheduleRole.roleArn,
      SCHEDULE_TARGET_ARN: newsletterQueues.prepare.queueArn,
      NEWSLETTER_CONFIGURATION_SET: newsletterConfigurationSet(config),
      RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    } satisfies Deployed<typeof apiEmailsEnv>,
    permissions: [
      on(newsletters, 'GetItem'),
      ...emailRights(scope, props),
      useTableKey(encryption.dataKey),
      sendMessages(newsletterQueues),
      passRole(newsletterQueues.scheduleRole.roleArn, 'scheduler.amazonaws.com'),
    ],
    wildcards: [
      ...allowBulk(scope, config),
      {
        statement: allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], [schedules]),
        resource: schedules,
        reason: 'A schedule is named after its email, whose id is made at run time.',
      },
    ],
  });
}
