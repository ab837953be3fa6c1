import { Logger } from '@aws-lambda-powertools/logger';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { createHandler } from '../../functions/shared/console/console-function.ts';
import type { consoleApiEnv, Deployed } from '../../functions/shared/runtime/console-env.ts';
import { LACKS } from '../../src/adapters/deployment/stage-parts.ts';
import type { Caller } from '../../src/application/route.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import type { HttpAnswer, HttpRequest } from '../../src/http/kernel.ts';
import { asApiGateway, bearer } from '../support/console-token.ts';

const queue = 'http://localhost/queue';
const ENV: Deployed<typeof consoleApiEnv> = {
  NOTIFICATION_LOG_TABLE: 'log',
  NOTIFICATION_CONTENT_TABLE: 'content',
  NOTIFICATION_RETRY_LOG_TABLE: 'retry-log',
  PIPELINE_STATE_TABLE: 'state',
  API_KEYS_TABLE: 'keys',
  DATA_KEYS_TABLE: 'data-keys',
  INTEGRATION_SECRET_PREFIX: 'integrations/',
  AUDIT_TABLE: 'audit',
  NEWSLETTERS_TABLE: 'newsletters',
  MEMBERS_TABLE: 'members',
  EMAILS_TABLE: 'emails',
  EMAIL_BATCHES_TABLE: 'batches',
  EMAIL_RECIPIENTS_TABLE: 'recipients',
  LANE_QUEUES: JSON.stringify(Object.fromEntries(CHANNELS.map((name) => [name, { express: queue, standard: queue }]))),
  NEWSLETTER_PREPARE_QUEUE: queue,
  NEWSLETTER_SEND_QUEUE: queue,
  BATCH_CONCURRENCY: '2',
  UNCERTAIN_MINUTES: '15',
  OWN_SENDERS_ONLY: 'false',
  REQUIRE_ADDRESS: 'false',
  NEWSLETTER_CONFIGURATION_SET: 'newsletters',
  RETRY_POLICY: JSON.stringify({
    base_interval_seconds: 300,
    max_retries: { urgent: 10, important: 7, normal: 5, info: 3 },
    retention_hours: { urgent: 24, important: 12, normal: 6, info: 3 },
  }),
  OPERATIONS_QUEUE: queue,
  VERIFY_FUNCTION: 'verify',
  STACK_NAME: 'stack',
  POWERTOOLS_METRICS_NAMESPACE: 'test',
  ROLE_CLAIM: 'groups',
  OPERATOR_VALUES: 'operator',
  VIEWER_VALUES: 'viewer',
  RECIPIENT_KEY_ARN: 'none',
  RECIPIENT_HASH_SECRET: 'none',
};

const { NEWSLETTERS_TABLE: _, ...WITHOUT_NEWSLETTERS } = ENV;
const { LANE_QUEUES: _l, OPERATIONS_QUEUE: _o, VERIFY_FUNCTION: _v, ...OF_NEWSLETTERS } = ENV;
const OF_NOTIFICATIONS = Object.fromEntries(
  Object.entries(ENV).filter(([name]) => !/^(?:MEMBERS|EMAIL|EMAILS|UNCERTAIN|NEWSLETTER)_/.test(name)),
);
const RULES = { claim: 'groups', operators: ['operator'], viewers: ['viewer'] };
const ANSWER: HttpAnswer = { status: 200, headers: { etag: 'W/"1"' }, body: '{"ok":true}' };

function event(claims: object | undefined, more: Partial<APIGatewayProxyEventV2> = {}): APIGatewayProxyEventV2 {
  const http = { method: 'POST', path: '/api/actions', protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: '' };
  return {
    version: '2.0',
    routeKey: 'POST /api/{proxy+}',
    rawPath: '/api/notifications/50% off',
    rawQueryString: 'tenant=%E6%9D%B1&limit=5',
    headers: { 'if-none-match': 'W/"1"', ...(claims && { authorization: bearer(claims) }) },
    isBase64Encoded: false,
    requestContext: { http, ...(claims && { authorizer: { jwt: { claims: asApiGateway({ ...claims }) } } }) },
    ...more,
  } as APIGatewayProxyEventV2;
}

describe('the functions behind the deployed console', () => {
  const logger = new Logger({ logLevel: 'SILENT' });

  function setUp() {
    const asked: HttpRequest<Caller>[] = [];
    const dispatch = async (request: HttpRequest<Caller>) => {
      asked.push(request);
      return ANSWER;
    };
    return { asked, handle: createHandler({ dispatch, rules: RULES }, { logger }) };
  }

  it('hands the request over with the caller of the token, and the answer back', async () => {
    const { asked, handle } = setUp();
    const claims = { groups: ['operator'], email: 'mori@example.com', sub: 'u1' };
    expect(await handle(event(claims, { body: '{"a":1}' }))).toEqual({
      statusCode: 200,
      headers: ANSWER.headers,
      body: ANSWER.body,
    });
    expect(asked).toEqual([
      {
        method: 'POST',
        path: '/api/notifications/50%25%20off',
        matched: { key: 'POST /api/{proxy+}', path: {} },
        query: { tenant: '東', limit: '5' },
        body: Buffer.from('{"a":1}'),
        headers: { 'if-none-match': 'W/"1"', authorization: bearer(claims) },
        caller: { who: 'u1', name: 'mori@example.com', role: 'operator' },
      },
    ]);
  });

  it('decodes a body that API Gateway encoded', async () => {
    const { asked, handle } = setUp();
    const body = Buffer.from('{"名":1}').toString('base64');
    await handle(event({ groups: 'viewer', sub: 'u1' }, { body, isBase64Encoded: true }));
    expect(asked[0]).toMatchObject({ body: Buffer.from('{"名":1}'), caller: { who: 'u1', role: 'viewer' } });
  });

  it.each([
    ['no token', undefined],
    ['a token without a group', { sub: 'u1' }],
    ['a token of another group', { sub: 'u1', groups: ['staff'] }],
    ['a token of nobody', { groups: ['operator'] }],
  ])('refuses %s before any route, and says what to do', async (_, claims) => {
    const { asked, handle } = setUp();
    const warned = vi.spyOn(logger, 'warn');
    const { statusCode, body } = await handle(event(claims));
    expect([statusCode, asked]).toEqual([403, []]);
    expect(JSON.parse(body ?? '')).toMatchObject({ remedy: expect.any(String) });
    expect(JSON.stringify(warned.mock.calls)).not.toContain('u1');
    warned.mockRestore();
  });

  const operator = { groups: ['operator'], sub: 'u1' };
  const get = (path: string) =>
    event(operator, {
      rawPath: path,
      rawQueryString: '',
      routeKey: 'GET /api/{proxy+}',
      requestContext: {
        ...event(operator).requestContext,
        http: { ...event(operator).requestContext.http, method: 'GET' },
      },
    });

  let loads = 0;
  it.each([
    ['console-api', ENV, '/api/session', { role: 'operator' }],
    ['console-api', OF_NOTIFICATIONS, '/api/session', { role: 'operator' }],
    ['console-newsletters', OF_NEWSLETTERS, '/api/session', { detail: expect.stringContaining('no such path') }],
    ['console-api', WITHOUT_NEWSLETTERS, '/api/emails', { detail: LACKS.newsletters }],
    ['console-api', WITHOUT_NEWSLETTERS, '/api/members/T1/daily', { detail: LACKS.newsletters }],
  ])('%s answers for its own routes (%#)', async (name, env, path, expected) => {
    vi.unstubAllEnvs();
    // The module binds itself to its environment on import, as Lambda loads it: each time under an address of its own.
    for (const [key, value] of Object.entries({ AWS_REGION: 'us-east-1', ...env })) vi.stubEnv(key, value);
    const { handler } = await import(`../../functions/${name}/handler.ts?${++loads}`);
    const { body } = await handler(get(path), { functionName: name });
    expect(JSON.parse(body)).toMatchObject(expected);
    vi.unstubAllEnvs();
  });
});
