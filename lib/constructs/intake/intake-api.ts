import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpRoute,
  HttpRouteKey,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { ApiAuthorizerEnv, ApiIntakeEnv, ApiNotificationsEnv } from '../../../functions/shared/runtime/env.ts';
import { HISTORY_INDEX, NOTIFICATION_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import { allow, countRequests, encryptRecipients, useTables } from '../function/permissions.ts';
import { retryPolicyJson } from '../function/retry-policy-config.ts';
import { ServiceFunction } from '../function/service-function.ts';
import type { ChannelLanes } from '../lanes/channel-lanes.ts';
import { laneUrls } from '../lanes/lane-urls.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';
import { removalPolicyOf } from '../storage/removal-policy.ts';

export interface IntakeApiProps {
  readonly config: StageConfig;
  readonly tables: NotificationTables;
  readonly encryption: Encryption;
  readonly channels: Readonly<Record<Channel, ChannelLanes>>;
}

/** API Gateway waits 30 s for an answer, and a producer for less. */
const TIMEOUT = Duration.seconds(20);
/** How long a revoked key may still be let through. */
const AUTHORIZER_CACHE = Duration.seconds(60);

/** Where producers hand notifications over and ask after them: an HTTP API, one small function a route group. */
export class IntakeApi extends Construct {
  readonly api: HttpApi;
  readonly intake: ServiceFunction;
  readonly notifications: ServiceFunction;
  readonly authorizer: ServiceFunction;
  /** Without a slash at the end. */
  readonly url: string;

  constructor(scope: Construct, id: string, props: IntakeApiProps) {
    super(scope, id);
    const { config } = props;
    this.intake = this.intakeFunction(props);
    this.notifications = this.notificationsFunction(props);
    this.authorizer = this.authorizerFunction(props);
    this.api = new HttpApi(this, 'Api', {
      apiName: `notification-retry-${config.stage}`,
      description: `notification-retry ${config.stage}: hand notifications over`,
      createDefaultStage: false,
    });
    this.api.addStage('Stage', {
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: config.api.rateLimit, burstLimit: config.api.burstLimit },
      accessLogSettings: { destination: new LogGroupLogDestination(this.accessLog(config)), format: ACCESS_LOG },
    });
    this.url = this.api.apiEndpoint;
    this.addRoutes();
  }

  private addRoutes(): void {
    const authorizer = new HttpLambdaAuthorizer('Authorizer', this.authorizer, {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      identitySource: ['$request.header.Authorization'],
      resultsCacheTtl: AUTHORIZER_CACHE,
    });
    const intake = new HttpLambdaIntegration('Intake', this.intake);
    const notifications = new HttpLambdaIntegration('Notifications', this.notifications);
    const route = (
      method: HttpMethod,
      path: string,
      integration: HttpLambdaIntegration,
      by: IHttpRouteAuthorizer = authorizer,
    ) => this.api.addRoutes({ path, methods: [method], integration, authorizer: by });
    const { GET, POST } = HttpMethod;
    route(POST, '/v1/notifications', intake);
    route(POST, '/v1/notifications/batch', intake);
    route(POST, '/v1/notifications/{log_id}/failures', intake);
    route(GET, '/v1/notifications', notifications);
    route(GET, '/v1/notifications/{log_id}', notifications);
    route(POST, '/v1/notifications/{log_id}/retry', notifications);
    const [document] = route(GET, '/v1/openapi.json', notifications, new HttpNoneAuthorizer());
    if (document === undefined) throw new Error('The route of the OpenAPI document was not made');
    Validations.of(document).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason: 'The OpenAPI document tells nothing that needs a key, and tools fetch it without one.',
    });
    const rest = new HttpRoute(this, 'Rest', {
      httpApi: this.api,
      routeKey: HttpRouteKey.DEFAULT,
      integration: notifications,
      authorizer: new HttpNoneAuthorizer(),
    });
    Validations.of(rest).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason: 'It only says that there is no such path, as a problem document: API Gateway has words of its own.',
    });
  }

  private intakeFunction({ config, tables, encryption, channels }: IntakeApiProps): ServiceFunction {
    return new ServiceFunction(this, 'Intake', {
      config,
      name: 'api-intake',
      description: 'Takes notifications and reported failures in, each once for its idempotency key',
      timeout: TIMEOUT,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_CONTENT_TABLE: tables.content.tableName,
        NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        RETRY_POLICY: retryPolicyJson(config),
        RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
        RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
      } satisfies ApiIntakeEnv,
      permissions: [
        allow(
          ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'],
          [tables.log.tableArn],
        ),
        allow(['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'], [tables.content.tableArn]),
        allow(['dynamodb:BatchWriteItem', 'dynamodb:Query'], [tables.retryLog.tableArn]),
        countRequests(tables.pipelineState),
        useTables(encryption.dataKey),
        ...encryptRecipients(encryption.recipientKey),
        allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
        allow(['sqs:SendMessage'], laneArns(channels)),
      ],
    });
  }

  private notificationsFunction({ config, tables, encryption, channels }: IntakeApiProps): ServiceFunction {
    return new ServiceFunction(this, 'Notifications', {
      config,
      name: 'api-notifications',
      description: 'Tells where notifications stand, and has them retried',
      timeout: TIMEOUT,
      environment: {
        NOTIFICATION_LOG_TABLE: tables.log.tableName,
        NOTIFICATION_RETRY_LOG_TABLE: tables.retryLog.tableName,
        PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
        LANE_QUEUES: Stack.of(this).toJsonString(laneUrls(channels)),
        RETRY_POLICY: retryPolicyJson(config),
      } satisfies ApiNotificationsEnv,
      permissions: [
        allow(['dynamodb:BatchGetItem', 'dynamodb:UpdateItem', 'dynamodb:PartiQLUpdate'], [tables.log.tableArn]),
        allow(['dynamodb:Query'], [tables.retryLog.tableArn]),
        allow(
          ['dynamodb:Query'],
          [HISTORY_INDEX, NOTIFICATION_INDEX].map((index) => `${tables.log.tableArn}/index/${index}`),
        ),
        countRequests(tables.pipelineState),
        useTables(encryption.dataKey),
        allow(['sqs:SendMessage'], laneArns(channels)),
      ],
    });
  }

  private authorizerFunction({ config, tables, encryption }: IntakeApiProps): ServiceFunction {
    return new ServiceFunction(this, 'KeyCheck', {
      config,
      name: 'api-authorizer',
      description: "Says whose API key a request's is",
      timeout: Duration.seconds(10),
      environment: { API_KEYS_TABLE: tables.apiKeys.tableName } satisfies ApiAuthorizerEnv,
      permissions: [
        allow(['dynamodb:GetItem'], [tables.apiKeys.tableArn]),
        allow(['kms:Decrypt', 'kms:DescribeKey'], [encryption.dataKey.keyArn]),
      ],
    });
  }

  private accessLog(config: StageConfig): LogGroup {
    return new LogGroup(this, 'AccessLog', {
      retention: config.logRetentionDays,
      removalPolicy: removalPolicyOf(config),
    });
  }
}

/** Who asked for what, and what became of it: no path beyond its route, no header, no body. */
const ACCESS_LOG = AccessLogFormat.custom(
  JSON.stringify({
    request_id: '$context.requestId',
    at: '$context.requestTimeEpoch',
    source_ip: '$context.identity.sourceIp',
    route: '$context.routeKey',
    status: '$context.status',
    tenant_id: '$context.authorizer.tenant_id',
    key_id: '$context.authorizer.key_id',
    latency_ms: '$context.responseLatency',
    function_latency_ms: '$context.integrationLatency',
    error: '$context.error.message',
    function_error: '$context.integrationErrorMessage',
  }),
);

function laneArns(channels: IntakeApiProps['channels']): string[] {
  return Object.values(channels).flatMap(({ express, standard }) => [express.queueArn, standard.queueArn]);
}
