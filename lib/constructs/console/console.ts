import { Duration, Fn, Stack } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { consoleOperationsEnv, Deployed } from '../../../functions/shared/runtime/console-env.ts';
import { HISTORY_INDEX, OPERATION_KIND, SHARDS_KIND, WORK_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import { retryPolicyJson } from '../../config/settings-json.ts';
import { allow, on, queryIndexes, readKinds, sealRecipients, useKinds, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { accessLog } from '../intake/access-log.ts';
import { laneArns, laneUrls, letterUrls } from '../lanes/channel-lanes.ts';
import { deadLetterQueue, workQueue } from '../lanes/queues.ts';
import type { Stage } from '../stage.ts';
import { type ConsoleProps, consoleFunctions } from './api-function.ts';
import { ConsolePage } from './page.ts';
import { createSignIn } from './sign-in.ts';

/** All that the routes of newsletters begin with. */
const NEWSLETTER_PATHS = [
  '/api/newsletters',
  '/api/emails',
  '/api/emails/{proxy+}',
  '/api/members',
  '/api/members/{proxy+}',
] as const;

/** Requests a second, and at once: some operators with their pages open, where no `api` says how many. */
const THROTTLE_WITHOUT_API = { rateLimit: 50, burstLimit: 100 } as const;

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
    const { rateLimit, burstLimit } = config.api || THROTTLE_WITHOUT_API;
    const apiName = `notification-retry-${config.stage}-console`;
    const httpApi = new HttpApi(this, 'Api', {
      apiName,
      description: `notification-retry ${config.stage}: the routes of the console`,
      createDefaultStage: false,
    });
    httpApi.addStage('Stage', {
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit, burstLimit },
      accessLogSettings: accessLog(this, apiName, config),
    });
    const apiDomain = Fn.select(2, Fn.split('/', httpApi.apiEndpoint));
    const page = new ConsolePage(this, 'Page', { config, api: new HttpOrigin(apiDomain) });
    this.url = page.url;
    const signIn = createSignIn(this, props.users ?? this, { config, settings, pageUrl: `${page.url}/` });
    page.deploy(signIn);
    const operations = new ConsoleOperations(this, 'Operations', props);
    const { api, newsletters } = consoleFunctions(this, props, operations.queue, signIn.roleClaim);
    this.api = api;
    const authorizer = new HttpJwtAuthorizer('Token', signIn.issuer, { jwtAudience: [signIn.clientId] });
    const route = (paths: readonly string[], integration: HttpLambdaIntegration) => {
      for (const path of paths) {
        httpApi.addRoutes({
          path,
          methods: [HttpMethod.GET, HttpMethod.POST],
          integration,
          authorizer,
          ...(signIn.required && { authorizationScopes: [...signIn.required] }),
        });
      }
    };
    route(['/api/{proxy+}'], new HttpLambdaIntegration('Routes', api));
    // API Gateway takes the most specific path. Without newsletters, `console-api` answers that the stage has none.
    if (newsletters) route(NEWSLETTER_PATHS, new HttpLambdaIntegration('NewsletterRoutes', newsletters));
  }
}

const TIMEOUT = Duration.minutes(10);
/** Bulk operations at once; each has a rate of its own. */
const CONCURRENCY = 2;

/** Works on bulk operations: one message each, continued by messages of its own. */
class ConsoleOperations extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, { config, tables, encryption, channels }: Stage) {
    super(scope, id);
    const name = `notification-retry-${config.stage}-console-operations`;
    const failures = deadLetterQueue(this, 'Failures', `${name}-dead-letter`, [name]);
    this.queue = workQueue(this, 'Queue', {
      queueName: name,
      deadLetters: failures,
      maxReceiveCount: 5,
      visibilityTimeout: Duration.minutes(60),
    });
    const worker = new ServiceFunction(this, 'Worker', {
      config,
      name: 'console-operations',
      description: 'Retries, redrives and cancels notifications by filter, as operators ask in the console',
      timeout: TIMEOUT,
      allowRecursion: true,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
        DATA_KEYS_TABLE: tables.dataKeys.tableName,
        RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        DEAD_LETTER_QUEUES: Stack.of(this).toJsonString(letterUrls(channels)),
        RETRY_POLICY: retryPolicyJson(config),
        OPERATIONS_QUEUE: this.queue.queueUrl,
      } satisfies Deployed<typeof consoleOperationsEnv>,
      permissions: [
        on(tables.log, 'BatchGetItem', 'UpdateItem', 'PartiQLUpdate'),
        // What is corrected gets a content of its own life, whose fallback is sealed anew.
        on(tables.content, 'GetItem', 'PutItem'),
        ...sealRecipients(encryption, tables),
        queryIndexes(tables.log, WORK_INDEX, HISTORY_INDEX),
        useKinds(tables.pipelineState, OPERATION_KIND),
        readKinds(tables.pipelineState, SHARDS_KIND),
        useTableKey(encryption.dataKey),
        allow(['sqs:SendMessage'], [...laneArns(channels), this.queue.queueArn]),
        // Letters of what was taken are deleted; the others are shown again at once.
        allow(
          ['sqs:ChangeMessageVisibility', 'sqs:DeleteMessage', 'sqs:ReceiveMessage'],
          Object.values(channels).map(({ deadLetters }) => deadLetters.queueArn),
        ),
      ],
    });
    worker.addEventSource(new SqsEventSource(this.queue, { batchSize: 1, maxConcurrency: CONCURRENCY }));
  }
}
