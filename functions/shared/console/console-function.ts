import { randomUUID } from 'node:crypto';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type * as v from 'valibot';
import type { Deployment } from '../../../src/adapters/deployment/deployment.ts';
import { LACKS, ofStage, tablesOf } from '../../../src/adapters/deployment/stage-parts.ts';
import type { DeleteLetters } from '../../../src/application/chosen/actions.ts';
import { createConsole, isOfNewsletters, refuse } from '../../../src/application/console.ts';
import type { AnyRoute, Caller } from '../../../src/application/route.ts';
import { type Channel, perChannel } from '../../../src/core/model/channels.ts';
import { jsonObject } from '../../../src/core/model/text.ts';
import { lettersStay } from '../../../src/core/operator/retry-now.ts';
import { HistoryUnavailableError } from '../../../src/core/operator/views/outcome-series.ts';
import { type HttpAnswer, type HttpRequest, requestOf, resultOf } from '../../../src/http/kernel.ts';
import { createApiDynamoDb } from '../runtime/clients/api-dynamodb.ts';
import { createSqs } from '../runtime/clients/sqs.ts';
import { consoleApiEnv } from '../runtime/console-env.ts';
import { bindFunction, type Observability } from '../runtime/observability.ts';
import { createSecretsAndKeys } from '../runtime/secrets-and-keys.ts';

export interface ConsoleDeps {
  readonly dispatch: (request: HttpRequest<Caller>) => Promise<HttpAnswer>;
  readonly rules: RoleRules;
}

/** Routes of the console behind API Gateway, whose JWT authorizer has checked the token. */
export function createHandler({ dispatch, rules }: ConsoleDeps, { logger }: Pick<Observability, 'logger'>) {
  return async (event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> => {
    const caller = callerOf(event.headers['authorization'], claimsOf(event), rules);
    if (caller === undefined) {
      logger.warn('refused: the token gives no role', { claim: rules.claim });
      return resultOf(refuse('forbidden', 'Your token gives you no role here.', false));
    }
    const answer = await dispatch(requestOf(event, caller));
    if (answer.status >= 400) logger.info('refused', { route: event.routeKey, status: answer.status });
    return resultOf(answer);
  };
}

function claimsOf({ requestContext }: APIGatewayProxyEventV2): Readonly<Record<string, unknown>> {
  const authorizer: unknown = 'authorizer' in requestContext ? requestContext.authorizer : undefined;
  if (typeof authorizer !== 'object' || authorizer === null || !('jwt' in authorizer)) return {};
  const { jwt } = authorizer;
  if (typeof jwt !== 'object' || jwt === null || !('claims' in jwt)) return {};
  return typeof jwt.claims === 'object' && jwt.claims !== null ? { ...jwt.claims } : {};
}

/** Some of the console's routes as a function. What a stage lacks is refused in one sentence. */
export const bindConsole = (routes: readonly AnyRoute[]) =>
  bindFunction(consoleApiEnv, (env, { logger }) => {
    const dynamodb = createApiDynamoDb();
    const sqs = createSqs();
    const { sealer, hashKey, secrets, integrationPrefix } = createSecretsAndKeys(env, dynamodb);
    const integrations = async (channel: Channel) => {
      const { createIntegrationCredentials } = await import('../../../src/adapters/secrets/integration-credentials.ts');
      return createIntegrationCredentials(secrets, { prefix: integrationPrefix(channel) });
    };
    const startRun = async (operation_id: string) => {
      await sqs.send(
        new SendMessageCommand({ QueueUrl: env.OPERATIONS_QUEUE, MessageBody: JSON.stringify({ operation_id }) }),
      );
    };
    // This function has no right on dead-letter queues, and a walk through one takes seconds.
    const deleteLetters: DeleteLetters = async (letters, DelaySeconds) => {
      const MessageBody = JSON.stringify({ letters });
      await sqs
        .send(new SendMessageCommand({ QueueUrl: env.OPERATIONS_QUEUE, MessageBody, DelaySeconds }))
        .catch((error: Error) => {
          for (const channel of letters.channels) logger.warn(lettersStay(channel), error);
        });
    };
    const startVerification = async () =>
      (await import('../runtime/clients/lambda.ts')).invokeAgain({ continued: true }, env.VERIFY_FUNCTION);
    const answer = createConsole(
      {
        deployment: { ...deploymentOf(env), recipientHashKey: hashKey, sealer: () => sealer, integrations },
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
      { startRun, deleteLetters, startVerification },
      routes,
    );
    // Their own function has these paths, where there is one.
    const lacks = (path: string) => env.NEWSLETTERS_TABLE === undefined && isOfNewsletters(path);
    const dispatch = async (request: HttpRequest<Caller>) =>
      lacks(request.path) ? refuse('not-found', LACKS.newsletters, false) : answer(request);
    const rules = { claim: env.ROLE_CLAIM, operators: env.OPERATOR_VALUES, viewers: env.VIEWER_VALUES };
    return createHandler({ dispatch, rules }, { logger });
  });

type Env = v.InferOutput<typeof consoleApiEnv>;

/** The deployment as commands see it, as far as the console's routes use it. */
function deploymentOf(env: Env): Omit<Deployment, 'recipientHashKey' | 'sealer' | 'integrations'> {
  return {
    tables: tablesOf({
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
    }),
    lane_queues: env.LANE_QUEUES,
    // The console redrives by operations, which need no dead-letter queue.
    dead_letter_queues: perChannel(() => ''),
    newsletter_queues: ofStage(
      ['prepare', 'send'],
      { prepare: env.NEWSLETTER_PREPARE_QUEUE, send: env.NEWSLETTER_SEND_QUEUE },
      () => LACKS.newsletters,
    ),
    sweep_interval_seconds: 0,
    retry_policy: env.RETRY_POLICY,
    uncertain_minutes: env.UNCERTAIN_MINUTES,
    own_senders_only: env.OWN_SENDERS_ONLY,
    require_address: env.REQUIRE_ADDRESS,
    batch_concurrency: env.BATCH_CONCURRENCY,
    newsletter_configuration_set: env.NEWSLETTER_CONFIGURATION_SET,
    metricHistory: async () => {
      if (env.POWERTOOLS_METRICS_DISABLED) {
        throw new HistoryUnavailableError(LACKS.monitoring, 'Deploy the stage with monitoring.');
      }
      // Its client is loaded only when somebody opens the overview.
      const { openMetricHistory } = await import('../../../src/adapters/metric-history/cloudwatch-history.ts');
      return openMetricHistory(env.POWERTOOLS_METRICS_NAMESPACE);
    },
    clients: { dynamodb: {}, sqs: {} },
  };
}

export interface RoleRules {
  readonly claim: string;
  readonly operators: readonly string[];
  readonly viewers: readonly string[];
}

type Claims = Readonly<Record<string, unknown>>;

/** Claims that are lists in one text by their own specification (RFC 8693, 4.2). */
const LISTS: readonly string[] = ['scope', 'scp'];

/**
 * The caller by an access token that API Gateway has checked; undefined when it gives no role. API Gateway passes a list
 * on as the text `[a b]`, in which a group named `my operator` reads like two: so the values are taken from the token
 * itself, whole.
 * @param verified the claims as API Gateway passes them on: the token must be the one that it checked
 */
export function callerOf(
  authorization: string | undefined,
  verified: Claims,
  { claim, operators, viewers }: RoleRules,
): Caller | undefined {
  const claims = claimsIn(authorization);
  const who = claims['sub'];
  // The issuer chooses it once and never again; people may change their names and addresses.
  if (!isText(who) || ['sub', 'iss'].some((name) => String(claims[name]) !== String(verified[name]))) return undefined;
  if (isIdToken(claims)) return undefined;
  const values = valuesOf(claim, claims[claim]);
  const role = operators.some((value) => values.includes(value))
    ? 'operator'
    : viewers.some((value) => values.includes(value)) && 'viewer';
  if (!role) return undefined;
  const name = ['email', 'preferred_username', 'username'].map((one) => claims[one]).find(isText);
  return { who, role, ...(name !== undefined && { name }) };
}

/** The claims of a JWT whose signature somebody else has checked. */
function claimsIn(authorization = ''): Claims {
  const [, payload = ''] = /^bearer +[\w-]+\.([\w-]+)\.[\w-]+$/i.exec(authorization) ?? [];
  return jsonObject(Buffer.from(payload, 'base64url').toString()) ?? {};
}

/** An ID token tells the page who signed in; it travels elsewhere and lives longer. The page asks with a nonce. */
function isIdToken(claims: Claims): boolean {
  return claims['token_use'] === 'id' || claims['nonce'] !== undefined || claims['at_hash'] !== undefined;
}

function valuesOf(name: string, claim: unknown): readonly unknown[] {
  if (Array.isArray(claim)) return claim;
  if (!isText(claim)) return [];
  return LISTS.includes(name) ? claim.split(' ') : [claim];
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
