import { Duration, Fn, Stack } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { ConsoleApiEnv, ConsoleOperationsEnv } from '../../../functions/shared/runtime/console-env.ts';
import { TENANT_EMAILS_INDEX } from '../../../src/adapters/dynamodb/newsletter/newsletter-tables.ts';
import {
  HISTORY_INDEX,
  NOTIFICATION_INDEX,
  OPERATION_KIND,
  WORK_INDEX,
} from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import { acknowledgeWildcard } from '../function/nag-acknowledgements.ts';
import { allow, openRecipients, readSecrets, readShards, useTableKey } from '../function/permissions.ts';
import { metricNamespace, ServiceFunction } from '../function/service-function.ts';
import { accessLog } from '../intake/access-log.ts';
import { API_TIMEOUT } from '../intake/intake-api-props.ts';
import { deadLetterQueue, QUEUE_DEFAULTS } from '../lanes/dead-letters.ts';
import { laneArns, laneUrls } from '../lanes/lane-queues.ts';
import type { ConsoleProps } from './console-props.ts';
import { useOperations } from './operation-rights.ts';
import { ConsolePage } from './page.ts';
import { createSignIn } from './sign-in.ts';

/**
 * The console on the web: the page in a private bucket behind CloudFront, its routes as a function behind an HTTP API
 * that checks each token, and a function for bulk operations. A stage without it has nothing of it.
 */
export class Console extends Construct {
  readonly url: string;
  readonly api: ServiceFunction;

  constructor(scope: Construct, id: string, props: ConsoleProps) {
    super(scope, id);
    const { config, settings } = props;
    const httpApi = new HttpApi(this, 'Api', {
      apiName: `notification-retry-${config.stage}-console`,
      description: `notification-retry ${config.stage}: the routes of the console`,
      createDefaultStage: false,
    });
    httpApi.addStage('Stage', {
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: config.api.rateLimit, burstLimit: config.api.burstLimit },
      accessLogSettings: accessLog(this, config),
    });
    const apiDomain = Fn.select(2, Fn.split('/', httpApi.apiEndpoint));
    const page = new ConsolePage(this, 'Page', { config, api: new HttpOrigin(apiDomain) });
    this.url = page.url;
    const signIn = createSignIn(this, config, settings, `${page.url}/`);
    page.deploy(signIn);
    const operations = new ConsoleOperations(this, 'Operations', props);
    this.api = consoleApiFunction(this, props, operations.queue, signIn.roleClaim);
    httpApi.addRoutes({
      path: '/api/{proxy+}',
      methods: [HttpMethod.GET, HttpMethod.POST],
      integration: new HttpLambdaIntegration('Routes', this.api),
      authorizer: new HttpJwtAuthorizer('Token', signIn.issuer, { jwtAudience: [signIn.clientId] }),
    });
  }
}

/** The function behind the routes of the console. */
function consoleApiFunction(
  scope: Construct,
  props: ConsoleProps,
  operations: Queue,
  roleClaim: string,
): ServiceFunction {
  const { config, settings, tables, newsletterTables, newsletterQueues, encryption, channels } = props;
  const { newsletters, members, emails, batches, recipients } = newsletterTables;
  const { prepare, send } = newsletterQueues;
  const api = new ServiceFunction(scope, 'ApiFunction', {
    config,
    name: 'console-api',
    description: 'Answers the console: lists, counts, actions of operators, the audit log',
    timeout: API_TIMEOUT,
    environment: {
      NOTIFICATION_LOG_TABLE: tables.log.tableName,
      NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
      NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      API_KEYS_TABLE: tables.apiKeys.tableName,
      DATA_KEYS_TABLE: tables.dataKeys.tableName,
      AUDIT_TABLE: tables.audit.tableName,
      NEWSLETTERS_TABLE: newsletters.tableName,
      MEMBERS_TABLE: members.tableName,
      EMAILS_TABLE: emails.tableName,
      EMAIL_BATCHES_TABLE: batches.tableName,
      EMAIL_RECIPIENTS_TABLE: recipients.tableName,
      LANE_QUEUES: Stack.of(scope).toJsonString(laneUrls(channels)),
      NEWSLETTER_PREPARE_QUEUE: prepare.queueUrl,
      NEWSLETTER_SEND_QUEUE: send.queueUrl,
      RETRY_POLICY: retryPolicyJson(config),
      UNCERTAIN_MINUTES: String(config.newsletter.uncertainMinutes),
      OPERATIONS_QUEUE: operations.queueUrl,
      STACK_NAME: Stack.of(scope).stackName,
      POWERTOOLS_METRICS_NAMESPACE: metricNamespace(config),
      RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
      RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
      ROLE_CLAIM: roleClaim,
      OPERATOR_VALUES: settings.operators.join(' '),
      VIEWER_VALUES: settings.viewers.join(' '),
    } satisfies ConsoleApiEnv,
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
      useOperations(tables.pipelineState, [OPERATION_KIND]),
      allow(['dynamodb:Scan', 'dynamodb:PutItem', 'dynamodb:UpdateItem'], [tables.apiKeys.tableArn]),
      allow(
        ['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
        [tables.audit.tableArn],
      ),
      allow(['dynamodb:Scan', 'dynamodb:Query'], [newsletters.tableArn]),
      allow(['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:UpdateItem'], [emails.tableArn]),
      allow(['dynamodb:Query'], [`${emails.tableArn}/index/${TENANT_EMAILS_INDEX}`]),
      allow(['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [batches.tableArn, recipients.tableArn]),
      useTableKey(encryption.dataKey),
      ...openRecipients(encryption, tables, SEALED.recipients),
      ...openRecipients(encryption, tables, SEALED.members),
      readSecrets(encryption),
      allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
      allow(['sqs:GetQueueAttributes', 'sqs:SendMessage'], laneArns(channels)),
      allow(['sqs:SendMessage'], [operations.queueArn, prepare.queueArn, send.queueArn]),
      allow(['cloudwatch:GetMetricData'], ['*']),
    ],
  });
  acknowledgeWildcard(api.executionRole, '*', 'IAM knows no narrower resource for cloudwatch:GetMetricData.');
  return api;
}

const TIMEOUT = Duration.minutes(10);
/** Bulk operations at once; each has a rate of its own. */
const CONCURRENCY = 2;

/** Works on bulk operations: one message each, continued by messages of its own. */
class ConsoleOperations extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, { config, tables, encryption, channels }: ConsoleProps) {
    super(scope, id);
    const name = `notification-retry-${config.stage}-console-operations`;
    const failures = deadLetterQueue(this, 'Failures', `${name}-dead-letter`, [name]);
    this.queue = new Queue(this, 'Queue', {
      ...QUEUE_DEFAULTS,
      queueName: name,
      retentionPeriod: Duration.days(4),
      visibilityTimeout: Duration.minutes(60),
      deadLetterQueue: { queue: failures, maxReceiveCount: 5 },
    });
    const worker = new ServiceFunction(this, 'Worker', {
      config,
      name: 'console-operations',
      description: 'Retries, redrives and cancels notifications by filter, as operators ask in the console',
      timeout: TIMEOUT,
      allowRecursion: true,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        RETRY_POLICY: retryPolicyJson(config),
        OPERATIONS_QUEUE: this.queue.queueUrl,
      } satisfies ConsoleOperationsEnv,
      permissions: [
        allow(['dynamodb:BatchGetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'], [tables.log.tableArn]),
        allow(
          ['dynamodb:Query'],
          [WORK_INDEX, HISTORY_INDEX].map((index) => `${tables.log.tableArn}/index/${index}`),
        ),
        useOperations(tables.pipelineState, [OPERATION_KIND]),
        readShards(tables.pipelineState),
        useTableKey(encryption.dataKey),
        allow(['sqs:SendMessage'], [...laneArns(channels), this.queue.queueArn]),
      ],
    });
    worker.addEventSource(new SqsEventSource(this.queue, { batchSize: 1, maxConcurrency: CONCURRENCY }));
  }
}
