import { Stack } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { consoleApiEnv, Deployed } from '../../../functions/shared/runtime/console-env.ts';
import {
  HISTORY_INDEX,
  NOTIFICATION_INDEX,
  OPERATION_KIND,
  VERIFICATION_KIND,
  WORK_INDEX,
} from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import type { ConsoleSettings } from '../../config/console-config.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import {
  allow,
  changeNewsletters,
  on,
  queryIndexes,
  readSecrets,
  sealRecipients,
  useAudit,
  useKinds,
  useTableKey,
} from '../function/permissions.ts';
import { metricNamespace, ServiceFunction } from '../function/service-function.ts';
import { API_TIMEOUT } from '../intake/api-functions.ts';
import { integrationPrefix, integrationSecrets, laneArns, laneUrls } from '../lanes/channel-lanes.ts';
import { recipientTables } from '../newsletter/job-access.ts';
import { allowBulk, emailRights, newsletterConfigurationSet } from '../newsletter/newsletter-sending.ts';
import { deployedStack } from '../platform/deployed-stack.ts';
import type { NewsletterStorage, Stage } from '../stage.ts';

export interface ConsoleProps extends Stage {
  /** Where the people are who sign in, if not in the console's own stack. */
  readonly users: Construct | undefined;
  /** How people sign in. */
  readonly settings: ConsoleSettings;
  /** Verifies the stage when it is invoked. */
  readonly verify: ServiceFunction;
}

/** The functions behind the routes of the console: those of newsletters have rights of their own. */
export function consoleFunctions(
  scope: Construct,
  props: ConsoleProps,
  operations: Queue,
  roleClaim: string,
): { readonly api: ServiceFunction; readonly newsletters: ServiceFunction | undefined } {
  const { newsletters } = props;
  const shared = sharedEnvironment(scope, props, roleClaim);
  return {
    api: apiFunction(scope, props, operations, shared),
    newsletters: newsletters && newslettersFunction(scope, { ...props, ...newsletters }, shared),
  };
}

/** What both functions need. Lambda takes 4 KB of variables: each adds only what its own routes use. */
function sharedEnvironment(
  scope: Construct,
  { config, settings, tables, encryption }: ConsoleProps,
  roleClaim: string,
) {
  return {
    NOTIFICATION_LOG_TABLE: tables.log.tableName,
    NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
    NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
    PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
    DATA_KEYS_TABLE: tables.dataKeys.tableName,
    AUDIT_TABLE: tables.audit.tableName,
    RETRY_POLICY: retryPolicyJson(config),
    STACK_NAME: deployedStack(scope).stackName,
    POWERTOOLS_METRICS_NAMESPACE: metricNamespace(config),
    RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
    RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    ROLE_CLAIM: roleClaim,
    OPERATOR_VALUES: settings.operators.join(' '),
    VIEWER_VALUES: settings.viewers.join(' '),
  } satisfies Partial<Deployed<typeof consoleApiEnv>>;
}

type Shared = ReturnType<typeof sharedEnvironment>;

function apiFunction(
  scope: Construct,
  { config, tables, encryption, channels, newsletters, verify }: ConsoleProps,
  operations: Queue,
  shared: Shared,
): ServiceFunction {
  const apiKeys = config.api !== false && tables.apiKeys;
  return new ServiceFunction(scope, 'ApiFunction', {
    config,
    name: 'console-api',
    description: 'Answers the console: lists, counts, actions of operators, the audit log',
    timeout: API_TIMEOUT,
    environment: {
      ...shared,
      LANE_QUEUES: Stack.of(scope).toJsonString(laneUrls(channels)),
      INTEGRATION_SECRET_PREFIX: integrationPrefix(config),
      OPERATIONS_QUEUE: operations.queueUrl,
      VERIFY_FUNCTION: verify.functionName,
      ...(apiKeys && { API_KEYS_TABLE: apiKeys.tableName }),
      // It says that there are newsletters.
      ...(newsletters && { NEWSLETTERS_TABLE: newsletters.newsletterTables.newsletters.tableName }),
    } satisfies Partial<Deployed<typeof consoleApiEnv>>,
    permissions: [
      on(tables.log, 'BatchGetItem', 'UpdateItem', 'PartiQLUpdate'),
      queryIndexes(tables.log, WORK_INDEX, HISTORY_INDEX, NOTIFICATION_INDEX),
      // A correction puts the content anew.
      on(tables.content, 'GetItem', 'BatchGetItem', 'PutItem'),
      on(tables.retryLog, 'Query', 'GetItem', 'PartiQLInsert', 'PutItem'),
      // Breakers, budgets and sweeps are read; only bulk operations are written.
      on(tables.pipelineState, 'Query', 'GetItem'),
      useKinds(tables.pipelineState, OPERATION_KIND, VERIFICATION_KIND),
      ...(apiKeys ? [on(apiKeys, 'Scan', 'PutItem', 'UpdateItem')] : []),
      ...useAudit(tables.audit),
      useTableKey(encryption.dataKey),
      ...sealRecipients(encryption, tables),
      ...readSecrets(encryption, encryption.recipientHashSecret),
      allow(['sqs:GetQueueAttributes', 'sqs:SendMessage'], laneArns(channels)),
      allow(['sqs:SendMessage'], [operations.queueArn]),
      allow(['lambda:InvokeFunction'], [verify.functionArn]),
    ],
    wildcards: [
      integrationSecrets(scope, config, 'A correction asks whose an integration is, which only its secret says.'),
      {
        statement: allow(['cloudwatch:DescribeAlarms', 'cloudwatch:GetMetricData'], ['*']),
        resource: '*',
        reason: 'IAM knows no narrower resource for metrics, and none for all alarms that ring.',
      },
    ],
  });
}

function newslettersFunction(
  scope: Construct,
  stage: ConsoleProps & NewsletterStorage,
  shared: Shared,
): ServiceFunction {
  const { config, encryption, tables, newsletterTables, newsletterQueues } = stage;
  const { prepare, send } = newsletterQueues;
  return new ServiceFunction(scope, 'NewslettersFunction', {
    config,
    name: 'console-newsletters',
    description: 'Answers the console: newsletters, their emails, drafts, tests, and what operators decide about them',
    timeout: API_TIMEOUT,
    environment: {
      ...shared,
      ...recipientTables(newsletterTables),
      NEWSLETTERS_TABLE: newsletterTables.newsletters.tableName,
      OWN_SENDERS_ONLY: String(config.newsletter.ownSendersOnly),
      REQUIRE_ADDRESS: String(config.newsletter.requireAddress),
      NEWSLETTER_PREPARE_QUEUE: prepare.queueUrl,
      NEWSLETTER_SEND_QUEUE: send.queueUrl,
      BATCH_CONCURRENCY: String(config.newsletter.batchConcurrency),
      UNCERTAIN_MINUTES: String(config.newsletter.uncertainMinutes),
      NEWSLETTER_CONFIGURATION_SET: newsletterConfigurationSet(config),
    } satisfies Partial<Deployed<typeof consoleApiEnv>>,
    permissions: [
      on(newsletterTables.newsletters, 'Scan', 'Query', 'GetItem'),
      changeNewsletters(newsletterTables.newsletters),
      ...emailRights(scope, stage),
      // Members are imported; none is deleted.
      on(newsletterTables.members, 'PutItem', 'UpdateItem', 'PartiQLInsert', 'PartiQLUpdate'),
      ...sealRecipients(encryption, tables, SEALED.members),
      allow(['sqs:SendMessage'], [prepare.queueArn, send.queueArn]),
      ...useAudit(tables.audit),
      useTableKey(encryption.dataKey),
    ],
    wildcards: allowBulk(scope, config),
  });
}
