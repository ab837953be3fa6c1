import { Stack } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { ConsoleApiEnv } from '../../../functions/shared/runtime/console-env.ts';
import {
  HISTORY_INDEX,
  NOTIFICATION_INDEX,
  OPERATION_KIND,
  TENANT_EMAILS_INDEX,
  VERIFICATION_KIND,
  WORK_INDEX,
} from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { acknowledgeWildcard } from '../function/nag-acknowledgements.ts';
import { allow, countRequests, openRecipients, readSecrets, useBudgets, useTableKey } from '../function/permissions.ts';
import { metricNamespace, ServiceFunction } from '../function/service-function.ts';
import { API_TIMEOUT, type NewsletterStorage } from '../intake/intake-api-props.ts';
import { laneArns, laneUrls } from '../lanes/lane-queues.ts';
import { allowBulk, newsletterConfigurationSet } from '../newsletter/newsletter-sending.ts';
import type { ConsoleProps } from './console-props.ts';
import { useAudit, useOperations } from './operation-rights.ts';

/** The functions behind the routes of the console: those of newsletters have rights of their own. */
export function consoleFunctions(
  scope: Construct,
  props: ConsoleProps,
  operations: Queue,
  roleClaim: string,
): { readonly api: ServiceFunction; readonly newsletters: ServiceFunction | undefined } {
  const environment = environmentOf(scope, props, operations, roleClaim);
  return {
    api: apiFunction(scope, props, operations, without(environment, OF_NEWSLETTERS)),
    newsletters:
      props.newsletters && newslettersFunction(scope, props.newsletters, props, without(environment, OF_NOTIFICATIONS)),
  };
}

/** NEWSLETTERS_TABLE says that there are newsletters. */
const OF_NEWSLETTERS = /^(?:MEMBERS|EMAIL|EMAILS|UNCERTAIN|NEWSLETTER)_/;
const OF_NOTIFICATIONS = /^(?:LANE_QUEUES|OPERATIONS_QUEUE|VERIFY_FUNCTION)$/;

/** Lambda takes 4 KB of variables: a function does without what only the other one's routes use. */
function without<E extends object>(environment: E, names: RegExp): E {
  const kept = Object.entries(environment).filter(([name]) => !names.test(name));
  return Object.fromEntries(kept) as E;
}

type Environment = Omit<ConsoleApiEnv, keyof NewsletterConsoleEnv | 'API_KEYS_TABLE'>;

function environmentOf(
  scope: Construct,
  { config, settings, tables, encryption, channels, newsletters, verify }: ConsoleProps,
  operations: Queue,
  roleClaim: string,
): Environment {
  return {
    NOTIFICATION_LOG_TABLE: tables.log.tableName,
    NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
    NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
    PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
    ...(newsletters && newsletterEnvironment(newsletters, config)),
    DATA_KEYS_TABLE: tables.dataKeys.tableName,
    AUDIT_TABLE: tables.audit.tableName,
    LANE_QUEUES: Stack.of(scope).toJsonString(laneUrls(channels)),
    RETRY_POLICY: retryPolicyJson(config),
    OPERATIONS_QUEUE: operations.queueUrl,
    VERIFY_FUNCTION: verify.functionName,
    STACK_NAME: Stack.of(scope).stackName,
    POWERTOOLS_METRICS_NAMESPACE: metricNamespace(config),
    RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
    RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    ROLE_CLAIM: roleClaim,
    OPERATOR_VALUES: settings.operators.join(' '),
    VIEWER_VALUES: settings.viewers.join(' '),
  };
}

function apiFunction(
  scope: Construct,
  { config, tables, encryption, channels, verify }: ConsoleProps,
  operations: Queue,
  environment: Environment,
): ServiceFunction {
  const api = new ServiceFunction(scope, 'ApiFunction', {
    config,
    name: 'console-api',
    description: 'Answers the console: lists, counts, actions of operators, the audit log',
    timeout: API_TIMEOUT,
    environment: { ...environment, ...(config.api !== false && { API_KEYS_TABLE: tables.apiKeys.tableName }) },
    permissions: [
      allow(['dynamodb:BatchGetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'], [tables.log.tableArn]),
      allow(
        ['dynamodb:Query'],
        [WORK_INDEX, HISTORY_INDEX, NOTIFICATION_INDEX].map((index) => `${tables.log.tableArn}/index/${index}`),
      ),
      allow(['dynamodb:GetItem', 'dynamodb:BatchGetItem'], [tables.content.tableArn]),
      allow(['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PartiQLInsert'], [tables.retryLog.tableArn]),
      // Breakers, budgets and sweeps are read; only bulk operations are written.
      allow(['dynamodb:Query', 'dynamodb:GetItem'], [tables.pipelineState.tableArn]),
      useOperations(tables.pipelineState, [OPERATION_KIND, VERIFICATION_KIND]),
      ...(config.api !== false
        ? [allow(['dynamodb:Scan', 'dynamodb:PutItem', 'dynamodb:UpdateItem'], [tables.apiKeys.tableArn])]
        : []),
      ...useAudit(tables.audit),
      useTableKey(encryption.dataKey),
      ...openRecipients(encryption, tables, SEALED.recipients),
      readSecrets(encryption),
      allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
      allow(['sqs:GetQueueAttributes', 'sqs:SendMessage'], laneArns(channels)),
      allow(['sqs:SendMessage'], [operations.queueArn]),
      allow(['lambda:InvokeFunction'], [verify.functionArn]),
      allow(['cloudwatch:GetMetricData'], ['*']),
    ],
  });
  acknowledgeWildcard(api.executionRole, '*', 'IAM knows no narrower resource for cloudwatch:GetMetricData.');
  return api;
}

type NewsletterConsoleEnv = Pick<
  ConsoleApiEnv,
  | 'NEWSLETTERS_TABLE'
  | 'MEMBERS_TABLE'
  | 'EMAILS_TABLE'
  | 'EMAIL_BATCHES_TABLE'
  | 'EMAIL_RECIPIENTS_TABLE'
  | 'NEWSLETTER_PREPARE_QUEUE'
  | 'NEWSLETTER_SEND_QUEUE'
  | 'UNCERTAIN_MINUTES'
  | 'NEWSLETTER_CONFIGURATION_SET'
>;

function newsletterEnvironment(
  { newsletterTables, newsletterQueues: { prepare, send } }: NewsletterStorage,
  config: StageConfig,
): NewsletterConsoleEnv {
  const { newsletters, members, emails, batches, recipients } = newsletterTables;
  return {
    NEWSLETTERS_TABLE: newsletters.tableName,
    MEMBERS_TABLE: members.tableName,
    EMAILS_TABLE: emails.tableName,
    EMAIL_BATCHES_TABLE: batches.tableName,
    EMAIL_RECIPIENTS_TABLE: recipients.tableName,
    NEWSLETTER_PREPARE_QUEUE: prepare.queueUrl,
    NEWSLETTER_SEND_QUEUE: send.queueUrl,
    UNCERTAIN_MINUTES: String(config.newsletter.uncertainMinutes),
    NEWSLETTER_CONFIGURATION_SET: newsletterConfigurationSet(config),
  };
}

function newslettersFunction(
  scope: Construct,
  { newsletterTables, newsletterQueues: { prepare, send } }: NewsletterStorage,
  { config, encryption, tables }: ConsoleProps,
  environment: Environment,
): ServiceFunction {
  const { newsletters, members, emails, batches, recipients } = newsletterTables;
  const bulk = allowBulk(scope, config);
  const identities = Stack.of(scope).formatArn({ service: 'ses', resource: 'identity', resourceName: '*' });
  const made = new ServiceFunction(scope, 'NewslettersFunction', {
    config,
    name: 'console-newsletters',
    description: 'Answers the console: newsletters, their emails, drafts, tests, and what operators decide about them',
    timeout: API_TIMEOUT,
    environment,
    permissions: [
      allow(['dynamodb:Scan', 'dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:UpdateItem'], [newsletters.tableArn]),
      allow(
        ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
        [emails.tableArn],
      ),
      // Who would get a draft, and whether an address of a test is suppressed.
      allow(['dynamodb:Query', 'dynamodb:BatchGetItem'], [members.tableArn]),
      // Test mails are counted, and take from the rate.
      countRequests(tables.pipelineState),
      useBudgets(tables.pipelineState),
      allow(['ses:GetEmailIdentity'], [identities]),
      ...bulk.map(({ statement }) => statement),
      allow(['dynamodb:Query'], [`${emails.tableArn}/index/${TENANT_EMAILS_INDEX}`]),
      allow(['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [batches.tableArn, recipients.tableArn]),
      ...openRecipients(encryption, tables, SEALED.members),
      allow(['sqs:SendMessage'], [prepare.queueArn, send.queueArn]),
      ...useAudit(tables.audit),
      useTableKey(encryption.dataKey),
      readSecrets(encryption),
      allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
    ],
  });
  for (const { resource, reason } of bulk) acknowledgeWildcard(made.executionRole, resource, reason);
  return made;
}
