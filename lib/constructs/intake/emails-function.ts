import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ApiEmailsEnv } from '../../../functions/shared/runtime/newsletter-env.ts';
import { TENANT_EMAILS_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { pacingJson } from '../../config/settings-json.ts';
import { acknowledgeWildcard } from '../function/nag-acknowledgements.ts';
import { allow, countRequests, openRecipients, readSecrets, useBudgets, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { jobEnvironment, sendMessages } from '../newsletter/job-access.ts';
import { allowBulk, newsletterConfigurationSet } from '../newsletter/newsletter-sending.ts';
import { API_TIMEOUT, type NewsletterApiProps } from './intake-api-props.ts';

/** The function behind the routes of emails: publish, status, operators' decisions, test mails. */
export function emailsApiFunction(scope: Construct, props: NewsletterApiProps): ServiceFunction {
  const { config, tables, newsletterTables, encryption, newsletterQueues } = props;
  const { newsletters, emails, batches, recipients, members } = newsletterTables;
  const bulk = allowBulk(scope, config);
  const schedules = newsletterQueues.scheduleArns;
  const identities = Stack.of(scope).formatArn({ service: 'ses', resource: 'identity', resourceName: '*' });
  const handler = new ServiceFunction(scope, 'Emails', {
    config,
    name: 'api-emails',
    description: 'Publishes emails, tells how far they are, and takes decisions about them',
    timeout: API_TIMEOUT,
    environment: {
      ...jobEnvironment({ config, newsletterTables, queues: newsletterQueues }),
      EMAIL_RECIPIENTS_TABLE: recipients.tableName,
      MEMBERS_TABLE: members.tableName,
      NEWSLETTERS_TABLE: newsletters.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      PACING: pacingJson(config, config.newsletter.totalConcurrency),
      DATA_KEYS_TABLE: tables.dataKeys.tableName,
      SCHEDULE_GROUP: newsletterQueues.scheduleGroupName,
      SCHEDULE_ROLE_ARN: newsletterQueues.scheduleRole.roleArn,
      SCHEDULE_TARGET_ARN: newsletterQueues.prepare.queueArn,
      NEWSLETTER_CONFIGURATION_SET: newsletterConfigurationSet(config),
      RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
      RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    } satisfies ApiEmailsEnv,
    permissions: [
      allow(
        ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
        [emails.tableArn],
      ),
      allow(['dynamodb:Query'], [`${emails.tableArn}/index/${TENANT_EMAILS_INDEX}`]),
      allow(['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [batches.tableArn, recipients.tableArn]),
      allow(['dynamodb:GetItem'], [newsletters.tableArn]),
      allow(['dynamodb:Query', 'dynamodb:BatchGetItem'], [members.tableArn]),
      countRequests(tables.pipelineState),
      useBudgets(tables.pipelineState),
      useTableKey(encryption.dataKey),
      ...openRecipients(encryption, tables, SEALED.members),
      readSecrets(encryption),
      allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
      ...sendMessages(newsletterQueues),
      allow(['scheduler:CreateSchedule', 'scheduler:DeleteSchedule'], [schedules]),
      allow(['iam:PassRole'], [newsletterQueues.scheduleRole.roleArn]),
      allow(['ses:GetEmailIdentity'], [identities]),
      ...bulk.map(({ statement }) => statement),
    ],
  });
  for (const { resource, reason } of bulk) acknowledgeWildcard(handler.executionRole, resource, reason);
  acknowledgeWildcard(
    handler.executionRole,
    schedules,
    'A schedule is named after its email, whose id is made at run time.',
  );
  return handler;
}
