import { randomUUID } from 'node:crypto';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { Deployment } from '../../src/adapters/deployment/deployment.ts';
import { Problem } from '../../src/core/model/problem.ts';
import { createConsole } from '../../src/operator-service/console.ts';
import { fail } from '../../src/operator-service/http/dispatch.ts';
import type { ConsoleAnswer, ConsoleRequest } from '../../src/operator-service/http/request.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { createSqs } from '../shared/runtime/clients/sqs.ts';
import { consoleApiEnv } from '../shared/runtime/console-env.ts';
import { parseEnv } from '../shared/runtime/env.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';
import { callerOf, type RoleRules } from './role-of.ts';

export interface ConsoleApiDeps {
  readonly dispatch: (request: ConsoleRequest) => Promise<ConsoleAnswer>;
  readonly rules: RoleRules;
}

/** The console's routes behind API Gateway, whose JWT authorizer has checked the token. */
export function createHandler({ dispatch, rules }: ConsoleApiDeps, { logger }: Pick<Observability, 'logger'>) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    const caller = callerOf(claimsOf(event), rules);
    const { method } = event.requestContext.http;
    if (caller === undefined) {
      logger.warn('refused: the token gives no role', { claim: rules.claim });
      return toResult(fail(new Problem('forbidden', 'Your token gives you no role here.'), '', false));
    }
    const { body = '', isBase64Encoded } = event;
    const answer = await dispatch({
      method,
      path: event.rawPath,
      query: Object.fromEntries(new URLSearchParams(event.rawQueryString)),
      body: isBase64Encoded ? Buffer.from(body, 'base64').toString() : body,
      if_none_match: event.headers['if-none-match'],
      caller,
    });
    if (answer.status >= 400) logger.info('refused', { route: event.routeKey, status: answer.status });
    return toResult(answer);
  };
}

function toResult({ status, headers, body }: ConsoleAnswer): APIGatewayProxyStructuredResultV2 {
  return { statusCode: status, headers: { ...headers }, body };
}

function claimsOf({ requestContext }: APIGatewayProxyEventV2): Readonly<Record<string, unknown>> {
  const authorizer: unknown = 'authorizer' in requestContext ? requestContext.authorizer : undefined;
  if (typeof authorizer !== 'object' || authorizer === null || !('jwt' in authorizer)) return {};
  const { jwt } = authorizer;
  if (typeof jwt !== 'object' || jwt === null || !('claims' in jwt)) return {};
  return typeof jwt.claims === 'object' && jwt.claims !== null ? { ...jwt.claims } : {};
}

function bind() {
  const env = parseEnv(consoleApiEnv, process.env);
  const observability = createObservability();
  const { logger } = observability;
  const dynamodb = createApiDynamoDb();
  const sqs = createSqs();
  const { sealer, hashKey } = createSecretsAndKeys(env, dynamodb);
  const kick = async (operation_id: string) => {
    await sqs.send(
      new SendMessageCommand({ QueueUrl: env.OPERATIONS_QUEUE, MessageBody: JSON.stringify({ operation_id }) }),
    );
  };
  const dispatch = createConsole(
    {
      deployment: { ...deploymentOf(env), recipientHashKey: hashKey, sealer: () => sealer },
      dynamodb,
      sqs,
      clock: () => new Date(),
      newId: randomUUID,
      stage: env.STACK_NAME,
      region: process.env['AWS_REGION'] ?? '',
      local: false,
      onRecord: (record) => logger.info('audit', { ...record }),
      onFault: (error, route) => logger.error('request failed on our side', { route, error: error as Error }),
    },
    kick,
  );
  const rules = { claim: env.ROLE_CLAIM, operators: env.OPERATOR_VALUES, viewers: env.VIEWER_VALUES };
  return withObservability(createHandler({ dispatch, rules }, observability), observability);
}

type Env = ReturnType<typeof parseEnv<typeof consoleApiEnv>>;

/** The deployment as commands see it, as far as the console's routes use it. */
function deploymentOf(env: Env): Omit<Deployment, 'recipientHashKey' | 'sealer'> {
  return {
    tables: {
      notification_log: env.NOTIFICATION_LOG_TABLE,
      notification_content: env.NOTIFICATION_CONTENT_TABLE,
      notification_retry_log: env.NOTIFICATION_RETRY_LOG_TABLE,
      pipeline_state: env.PIPELINE_STATE_TABLE,
      api_keys: env.API_KEYS_TABLE,
      newsletters: env.NEWSLETTERS_TABLE,
      members: env.MEMBERS_TABLE,
      emails: env.EMAILS_TABLE,
      email_batches: env.EMAIL_BATCHES_TABLE,
      email_recipients: env.EMAIL_RECIPIENTS_TABLE,
      audit: env.AUDIT_TABLE,
    },
    lane_queues: env.LANE_QUEUES,
    // The console redrives by operations, which need no dead-letter queue.
    dead_letter_queues: { email: '', slack: '', teams: '', webhook: '' },
    newsletter_queues: { prepare: env.NEWSLETTER_PREPARE_QUEUE, send: env.NEWSLETTER_SEND_QUEUE },
    sweep_interval_seconds: 0,
    retry_policy: env.RETRY_POLICY,
    uncertain_minutes: env.UNCERTAIN_MINUTES,
    metricHistory: async () =>
      (await import('../shared/runtime/clients/cloudwatch.ts')).openMetricHistory(env.POWERTOOLS_METRICS_NAMESPACE),
    clients: { dynamodb: {}, sqs: {} },
  };
}

export const handler = bind();
