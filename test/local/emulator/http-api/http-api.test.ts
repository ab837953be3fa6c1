import { afterEach, describe, expect, it } from 'vitest';
import { type HttpServer, serve } from '../../../../src/http/loopback-server.ts';
import { createHttpApi, matchRoute, pathsOf } from '../../../../src/local/emulator/http-api/http-api.ts';
import { httpApiFrom, withOrigins } from '../../../../src/local/emulator/template/http-apis.ts';
import type { JsonObject } from '../../../../src/local/support/json.ts';

const FUNCTION = 'arn:aws:lambda:us-east-1:000000000000:function:';
const integration = {
  id: 'I',
  ref: 'int',
  properties: { IntegrationType: 'AWS_PROXY', PayloadFormatVersion: '2.0', IntegrationUri: `${FUNCTION}things` },
};
const authorizer = {
  id: 'A',
  ref: 'auth',
  properties: {
    AuthorizerUri: `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${FUNCTION}check/invocations`,
    IdentitySource: ['$request.header.Authorization'],
    AuthorizerResultTtlInSeconds: 60,
    EnableSimpleResponses: true,
  },
};
const route = (RouteKey: string, more: JsonObject = {}) => ({
  id: RouteKey,
  ref: RouteKey,
  properties: { RouteKey, Target: 'integrations/int', ...more },
});
const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: 'auth' };
const plan = httpApiFrom(
  [
    route('GET /v1/things', guarded),
    route('POST /v1/things', guarded),
    route('GET /v1/things/{id}', guarded),
    route('GET /v1/things/latest', { AuthorizationType: 'NONE' }),
  ],
  [integration],
  [authorizer],
);

describe('the routes of a template', () => {
  it.each([
    ['GET', '/v1/things', 'GET /v1/things', {}],
    ['GET', '/v1/things/7', 'GET /v1/things/{id}', { id: '7' }],
    ['GET', '/v1/things/a%2Fb%20c', 'GET /v1/things/{id}', { id: 'a/b c' }],
    ['GET', '/v1/things/latest', 'GET /v1/things/latest', {}],
  ])('%s %s is for %s', (method, path, routeKey, pathParameters) => {
    const match = matchRoute(plan.routes, method, path);
    expect([match?.route.routeKey, match?.pathParameters]).toEqual([routeKey, pathParameters]);
  });

  it.each([
    ['DELETE', '/v1/things'],
    ['GET', '/v1/things/'],
    ['GET', '/v1/things/7/parts'],
    ['GET', '/v2/things'],
  ])('%s %s is for none', (method, path) => expect(matchRoute(plan.routes, method, path)).toBeUndefined());

  it('has $default for requests that match no other route', () => {
    const { routes } = httpApiFrom([route('$default'), route('GET /v1/things')], [integration], []);
    expect(matchRoute(routes, 'GET', '/v1/things')?.route.routeKey).toBe('GET /v1/things');
    for (const [method = '', path = ''] of [
      ['DELETE', '/v1/things'],
      ['GET', '/v2'],
    ])
      expect(matchRoute(routes, method, path)).toMatchObject({ route: { routeKey: '$default' }, pathParameters: {} });
  });

  it.each<[string, () => unknown, RegExp]>([
    ['without its integration', () => httpApiFrom([route('GET /')], [], []), /no integration integrations\/int/],
    ['with an authorizer of another kind', () => httpApiFrom([route('GET /', guarded)], [integration], []), /CUSTOM/],
    [
      'with an integration of another kind',
      () => httpApiFrom([], [{ ...integration, properties: { IntegrationType: 'HTTP_PROXY' } }], []),
      /only Lambda integrations/,
    ],
    [
      'with an identity source other than one header',
      () =>
        httpApiFrom(
          [],
          [],
          [{ ...authorizer, properties: { ...authorizer.properties, IdentitySource: ['$context.x'] } }],
        ),
      /one header/,
    ],
  ])('%s are refused, because the runtime does not support them', (_, read, message) => expect(read).toThrow(message));
});

describe('a request', () => {
  const servers: HttpServer[] = [];
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

  async function start(answers: Readonly<Record<string, (event: JsonObject) => unknown>>, given = plan) {
    let now = 0;
    const calls: { readonly name: string; readonly event: JsonObject }[] = [];
    const api = createHttpApi(
      given,
      async (name, text) => {
        const event = JSON.parse(text);
        calls.push({ name, event });
        const answer = answers[name]?.(event);
        return answer instanceof Error
          ? { ok: false, error: { errorType: 'Error', errorMessage: answer.message } }
          : { ok: true, result: JSON.stringify(answer ?? null) };
      },
      () => now,
    );
    // Here the gateway itself decides about pages.
    const server = await serve(api, 0, 'test', { allowPage: () => true });
    servers.push(server);
    return {
      calls,
      pass: (ms: number) => {
        now += ms;
      },
      ask: async (path: string, init?: RequestInit) => {
        const answer = await fetch(server.url + path, init);
        return { status: answer.status, text: await answer.text(), headers: answer.headers };
      },
    };
  }
  const allow = () => ({ isAuthorized: true, context: { tenant: 'T1' } });
  const ok = () => ({ statusCode: 201, headers: { 'x-one': 1 }, body: '{"a":1}' });
  const withKey = { headers: { authorization: 'Bearer k' } };

  it('reaches its function as an event of format 2.0, with the authorizer’s context', async () => {
    const { ask, calls } = await start({ check: allow, things: ok });
    const answer = await ask('/v1/things?x=1&x=2&y=%20', {
      method: 'POST',
      headers: { ...withKey.headers, 'content-type': 'application/json', 'Idempotency-Key': 'k1' },
      body: '{"漢":1}',
    });
    expect([answer.status, answer.text, answer.headers.get('x-one')]).toEqual([201, '{"a":1}', '1']);
    expect(calls.map(({ name }) => name)).toEqual(['check', 'things']);
    expect(calls[1]?.event).toMatchObject({
      version: '2.0',
      routeKey: 'POST /v1/things',
      rawPath: '/v1/things',
      headers: { 'idempotency-key': 'k1' },
      queryStringParameters: { x: '1,2', y: ' ' },
      body: '{"漢":1}',
      isBase64Encoded: false,
      requestContext: { authorizer: { lambda: { tenant: 'T1' } }, http: { method: 'POST' } },
    });
  });

  it.each([
    ['/v1/space%20value', '/v1/space value'],
    ['/v1/question%3Fvalue', '/v1/question'],
    ['/v1/slash%2Fvalue', '/v1/slash/value'],
    ['/v1/hash%23value', '/v1/hash#value'],
    ['/v1/unicode-%CE%BB', '/v1/unicode-λ'],
    ['/v1/literal%252Fvalue', '/v1/literal/value'],
    ['/v1/literal%253Fvalue', '/v1/literal?value'],
    ['/v1/literal%2525value', '/v1/literal%value'],
    ['/v1/percent%25done', undefined],
  ])('has the path %s as AWS was seen to pass it on', (path, raw) => expect(pathsOf(path)?.raw).toBe(raw));

  it('has a body that is not text in base64', async () => {
    const { ask, calls } = await start({ check: allow, things: ok });
    const headers = { ...withKey.headers, 'content-type': 'application/octet-stream' };
    await ask('/v1/things', { method: 'POST', headers, body: new Uint8Array([1, 2, 255]) });
    expect(calls[1]?.event).toMatchObject({ body: 'AQL/', isBase64Encoded: true });
  });

  describe('of a web page', () => {
    const app = 'https://app.example';
    const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };

    it('is announced by a preflight that reaches no function, and its answer may be read', async () => {
      const { ask, calls } = await start({ check: allow, things: ok }, withOrigins(plan, [app]));
      const { status, headers } = await ask('/v1/things', {
        method: 'OPTIONS',
        headers: { origin: app, ...preflight },
      });
      expect(status).toBe(204);
      expect(headers.get('access-control-allow-origin')).toBe(app);
      expect(headers.get('access-control-allow-headers')).toBe(
        'authorization,content-type,idempotency-key,traceparent',
      );
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      expect(calls).toEqual([]);
      const answer = await ask('/v1/things', { headers: { ...withKey.headers, origin: app } });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([201, app]);
      expect(answer.headers.get('access-control-expose-headers')).toContain('retry-after');
    });

    it.each([
      ['of another origin', withOrigins(plan, [app]), 'https://other.example'],
      ['where no origin is configured', plan, app],
    ])('%s gets no permission', async (_, given, origin) => {
      const { ask } = await start({ check: allow, things: ok }, given);
      for (const init of [
        { method: 'OPTIONS', headers: { origin, ...preflight } },
        { headers: { ...withKey.headers, origin } },
      ])
        expect((await ask('/v1/things', init)).headers.get('access-control-allow-origin')).toBeNull();
    });
  });

  it('without the identity source is refused before the authorizer is called', async () => {
    const { ask, calls } = await start({ check: allow, things: ok });
    expect(await ask('/v1/things')).toMatchObject({ status: 401, text: '{"message":"Unauthorized"}' });
    expect(calls).toEqual([]);
  });

  it.each<[string, () => unknown, number]>([
    ['refuses', () => ({ isAuthorized: false }), 403],
    ['answers nonsense', () => 'yes', 403],
    ['fails', () => new Error('down'), 500],
  ])('is refused where the authorizer %s', async (_, check, status) => {
    const { ask, calls } = await start({ check, things: ok });
    expect((await ask('/v1/things', withKey)).status).toBe(status);
    expect(calls.map(({ name }) => name)).toEqual(['check']);
  });

  it('is authorized once per minute and key', async () => {
    const { ask, calls, pass } = await start({ check: allow, things: ok });
    const checks = () => calls.filter(({ name }) => name === 'check').length;
    await ask('/v1/things', withKey);
    pass(59_999);
    await ask('/v1/things/1', withKey);
    expect(checks()).toBe(1);
    await ask('/v1/things', { headers: { authorization: 'Bearer other' } });
    expect(checks()).toBe(2);
    pass(1);
    await ask('/v1/things', withKey);
    expect(checks()).toBe(3);
  });

  it('needs no key where the route has no authorizer', async () => {
    const { ask, calls } = await start({ things: ok });
    expect((await ask('/v1/things/latest')).status).toBe(201);
    expect(calls[0]?.event['requestContext']).not.toHaveProperty('authorizer');
  });

  it.each<[string, string, () => unknown, number]>([
    ['for no route', '/v1/nothing', ok, 404],
    ['whose function fails', '/v1/things', () => new Error('bug'), 500],
    ['whose function gives no answer', '/v1/things', () => 'text', 500],
  ])('%s gets the gateway’s own answer', async (_, path, things, status) => {
    const { ask } = await start({ check: allow, things });
    expect((await ask(path, withKey)).status).toBe(status);
  });
});
