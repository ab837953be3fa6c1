import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { buildConsole, CONSOLE_PAGE } from '../../../console/build.ts';
import type { consoleApiEnv, Deployed } from '../../../functions/shared/runtime/console-env.ts';
import { isOfNewsletters } from '../../../src/application/console.ts';
import type { ConsoleConfig } from '../../../src/application/contract/overview.ts';
import { securityHeaders } from '../../../src/console-server/security-headers.ts';
import { staticFile } from '../../../src/console-server/static-files.ts';
import type { RetryPolicyConfig } from '../../../src/core/model/retry-policy.ts';
import { pathsOf } from '../../../src/local/emulator/http-api/http-api.ts';
import { type Operations, startOperations } from '../cli/operations.ts';
import { asApiGateway } from '../console-token.ts';
import { CLIENT_ID, closed, type Issuer, startIssuer } from './issuer.ts';

export interface DeployedConsole {
  readonly url: string;
  readonly issuer: Issuer;
  readonly ops: Operations;
  /** `401 GET /api/overview`, … in their order. */
  readonly answers: readonly string[];
  close(): Promise<void>;
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/**
 * The console as it is deployed, with what stands in for CloudFront and API Gateway: static files with the headers of
 * the stack, and the function's own entry behind a check of tokens like that of a JWT authorizer.
 */
export async function startDeployedConsole(): Promise<DeployedConsole> {
  buildConsole(CONSOLE_PAGE);
  const ops = await startOperations();
  const answers: string[] = [];
  let answer: (request: IncomingMessage, body: string) => Promise<Answered> = () => Promise.reject(new Error('early'));
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { status, headers, body } = await answer(request, Buffer.concat(chunks).toString());
    if (request.url?.startsWith('/api/')) answers.push(`${status} ${request.method} ${request.url}`);
    response.writeHead(status, { ...headers, ...securityHeaders([issuer.url]) }).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const issuer = await startIssuer(url);
  const api = await apiOf(issuer, ops);
  const config: ConsoleConfig = {
    sign_in: 'oidc',
    issuer: issuer.url,
    client_id: CLIENT_ID,
    scope: 'openid email profile',
  };
  answer = async (request, body) => {
    const { pathname } = new URL(request.url ?? '/', url);
    if (pathname.startsWith('/api/')) return api(request, body);
    if (pathname === '/config.json')
      return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(config) };
    const file = await staticFile(CONSOLE_PAGE, pathname);
    return file === undefined ? { status: 404, headers: {}, body: '' } : { status: 200, ...file };
  };
  return {
    url,
    issuer,
    ops,
    answers,
    close: async () => {
      await closed(server);
      await issuer.close();
      await ops.stop();
    },
  };
}

/** The entries of the functions `console-api` and `console-newsletters` behind a JWT authorizer of an HTTP API. */
async function apiOf(issuer: Issuer, ops: Operations) {
  const { tables, lane_queues, newsletter_queues, clients } = ops.deployment;
  Object.assign(process.env, {
    NOTIFICATION_LOG_TABLE: tables.notification_log,
    NOTIFICATION_CONTENT_TABLE: tables.notification_content,
    NOTIFICATION_RETRY_LOG_TABLE: tables.notification_retry_log,
    PIPELINE_STATE_TABLE: tables.pipeline_state,
    API_KEYS_TABLE: tables.api_keys,
    DATA_KEYS_TABLE: 'none',
    AUDIT_TABLE: tables.audit,
    NEWSLETTERS_TABLE: tables.newsletters,
    MEMBERS_TABLE: tables.members,
    EMAILS_TABLE: tables.emails,
    EMAIL_BATCHES_TABLE: tables.email_batches,
    EMAIL_RECIPIENTS_TABLE: tables.email_recipients,
    LANE_QUEUES: JSON.stringify(lane_queues),
    NEWSLETTER_PREPARE_QUEUE: newsletter_queues.prepare,
    NEWSLETTER_SEND_QUEUE: newsletter_queues.send,
    BATCH_CONCURRENCY: '2',
    UNCERTAIN_MINUTES: '15',
    OWN_SENDERS_ONLY: 'false',
    REQUIRE_ADDRESS: 'false',
    NEWSLETTER_CONFIGURATION_SET: 'newsletters',
    RETRY_POLICY: JSON.stringify({
      base_interval_seconds: 300,
      max_retries: { urgent: 1, important: 1, normal: 1, info: 1 },
      retention_hours: { urgent: 1, important: 1, normal: 1, info: 1 },
    } satisfies RetryPolicyConfig),
    INTEGRATION_SECRET_PREFIX: 'integrations/',
    OPERATIONS_QUEUE: newsletter_queues.prepare,
    VERIFY_FUNCTION: 'verify',
    STACK_NAME: 'NotificationRetry-test',
    POWERTOOLS_METRICS_NAMESPACE: 'notification-retry/test',
    RECIPIENT_KEY_ARN: 'none',
    RECIPIENT_HASH_SECRET: 'none',
    ROLE_CLAIM: 'groups',
    OPERATOR_VALUES: 'operator',
    VIEWER_VALUES: 'viewer',
  } satisfies Deployed<typeof consoleApiEnv>);
  Object.assign(process.env, {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_DYNAMODB: clients.dynamodb.endpoint,
    AWS_ENDPOINT_URL_SQS: clients.sqs.endpoint,
  });
  // The modules bind themselves to their environment on import, as Lambda loads them.
  const api = await import('../../../functions/console-api/handler.ts');
  const newsletters = await import('../../../functions/console-newsletters/handler.ts');
  const keys = createRemoteJWKSet(new URL('/jwks', issuer.url));

  return async (request: IncomingMessage, body: string): Promise<Answered> => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const verified = await jwtVerify(token, keys, { issuer: issuer.url, audience: CLIENT_ID }).catch(() => undefined);
    if (verified === undefined) {
      return { status: 401, headers: { 'content-type': 'application/json' }, body: '{"message":"Unauthorized"}' };
    }
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    const path = pathsOf(pathname);
    if (path === undefined) return { status: 400, headers: { 'content-type': 'application/json' }, body: '{}' };
    const event = {
      version: '2.0',
      routeKey: `${request.method} /api/{proxy+}`,
      rawPath: path.raw,
      rawQueryString: search.slice(1),
      headers: { 'if-none-match': request.headers['if-none-match'], authorization: request.headers.authorization },
      requestContext: {
        http: { method: request.method, path: path.raw },
        authorizer: { jwt: { claims: asApiGateway(verified.payload), scopes: null } },
      },
      body,
      isBase64Encoded: false,
    };
    const { handler } = isOfNewsletters(path.raw) ? newsletters : api;
    const invoke = handler as (event: unknown, context: object) => Promise<APIGatewayProxyStructuredResultV2>;
    const { statusCode = 500, headers, body: text = '' } = await invoke(event, { functionName: 'console' });
    const texts = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)]);
    return { status: statusCode, headers: Object.fromEntries(texts), body: text };
  };
}
