import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from '../../../http/loopback-server.ts';
import { byFewerParameters, pathParameters } from '../../../http/paths.ts';
import { isObject, type Json, type JsonObject } from '../../support/json.ts';
import type { InvokeByName } from '../lambda/invocation.ts';
import type { AuthorizerPlan, CorsPlan, HttpApiPlan, HttpRoutePlan } from '../template/http-apis.ts';

/** Largest request body that API Gateway accepts, in bytes. */
const MAX_BODY = 10 * 1024 * 1024;

/** API Gateway's own answers. An HTTP API cannot be configured to give others. */
const OWN_ANSWERS = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  413: 'Request Entity Too Large',
  500: 'Internal Server Error',
} as const;

/** Answers requests as an HTTP API of API Gateway does, with the functions of the template. */
export function createHttpApi(plan: HttpApiPlan, invoke: InvokeByName, now: () => number = Date.now) {
  const authorize = createAuthorize(invoke, now);

  return async (request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> => {
    const own = (status: keyof typeof OWN_ANSWERS) => sendJson(response, status, { message: OWN_ANSWERS[status] });
    if (answerPreflight(plan.cors, request, response)) return;
    for (const [name, value] of Object.entries(corsHeaders(plan.cors, request.headers.origin))) {
      response.setHeader(name, value);
    }
    const url = new URL(request.url ?? '/', 'http://localhost');
    const path = pathsOf(url.pathname);
    if (path === undefined) return own(400);
    const match = matchRoute(plan.routes, request.method ?? 'GET', path.routed);
    if (match === undefined) return own(404);
    if (body.length > MAX_BODY) return own(413);
    const event = eventOf(request, { url, path: path.raw }, match, body, now());
    const { authorizer } = match.route;
    if (authorizer === undefined) return pass(match, event, response, own);
    const identity = request.headers[authorizer.header];
    const given = await authorize(authorizer, typeof identity === 'string' ? identity : undefined, event);
    if (!given.allowed) return own(given.status);
    const requestContext = { ...(event['requestContext'] as JsonObject), authorizer: { lambda: given.context } };
    return pass(match, { ...event, requestContext }, response, own);
  };

  async function pass(
    { route }: RouteMatch,
    event: JsonObject,
    response: ServerResponse,
    own: (status: keyof typeof OWN_ANSWERS) => void,
  ): Promise<void> {
    const result = await invoke(route.functionName, JSON.stringify(event));
    if (result?.ok !== true) return own(500);
    const answer: Json = JSON.parse(result.result);
    if (!isObject(answer) || typeof answer['statusCode'] !== 'number') return own(500);
    const headers = isObject(answer['headers'] ?? {}) ? (answer['headers'] as JsonObject) : {};
    const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    response.writeHead(answer['statusCode'], Object.fromEntries(texts));
    response.end(Buffer.from(String(answer['body'] ?? ''), answer['isBase64Encoded'] === true ? 'base64' : 'utf8'));
  }
}

/**
 * A path as API Gateway reads it, measured on AWS: it decodes once, cuts at a `?` that this shows, finds the route, and
 * decodes again. `a%2Fb` is two segments, `a%252Fb` one; `%25` alone is refused.
 */
export function pathsOf(pathname: string): { readonly routed: string; readonly raw: string } | undefined {
  try {
    const routed = decodeURIComponent(pathname).replace(/\?.*$/s, '');
    return { routed, raw: decodeURIComponent(routed) };
  } catch {
    return undefined;
  }
}

/** An event of payload format 2.0. */
function eventOf(
  request: IncomingMessage,
  { url, path }: { readonly url: URL; readonly path: string },
  match: RouteMatch,
  body: Buffer,
  at: number,
): JsonObject {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(',')] as const);
  const query = [...new Set(url.searchParams.keys())].map((name) => [name, url.searchParams.getAll(name).join(',')]);
  const type = request.headers['content-type'] ?? '';
  // API Gateway passes text on as text, and all else as base64.
  const isText =
    isUtf8(body) && (body.length === 0 || /^(text\/|application\/(json|.*\+json|xml|javascript))/i.test(type));
  return {
    version: '2.0',
    routeKey: match.route.routeKey,
    rawPath: path,
    rawQueryString: url.search.slice(1),
    headers: Object.fromEntries(headers),
    ...(query.length > 0 && { queryStringParameters: Object.fromEntries(query) }),
    ...(Object.keys(match.pathParameters).length > 0 && { pathParameters: { ...match.pathParameters } }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName: request.headers.host ?? 'localhost',
      http: {
        method: request.method ?? 'GET',
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.socket.remoteAddress ?? '127.0.0.1',
        userAgent: request.headers['user-agent'] ?? '',
      },
      requestId: randomUUID(),
      routeKey: match.route.routeKey,
      stage: '$default',
      timeEpoch: at,
    },
    ...(body.length > 0 && { body: body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: !isText,
  };
}

interface RouteMatch {
  readonly route: HttpRoutePlan;
  readonly pathParameters: Readonly<Record<string, string>>;
}

/** The route for a request. As on API Gateway, a route with fewer parameters comes first and `$default` comes last. */
export function matchRoute(routes: readonly HttpRoutePlan[], method: string, path: string): RouteMatch | undefined {
  const matches = routes.flatMap((route): RouteMatch[] => {
    const [wanted = '', pattern = ''] = route.routeKey.split(' ');
    const found = wanted === method || wanted === 'ANY' ? pathParameters(pattern, path) : undefined;
    return found === undefined ? [] : [{ route, pathParameters: found }];
  });
  const [match] = matches.sort((a, b) => byFewerParameters(a.pathParameters, b.pathParameters));
  if (match !== undefined) {
    const parameters = Object.entries(match.pathParameters).map(([name, segment]) => [
      name,
      decodeURIComponent(segment),
    ]);
    return { route: match.route, pathParameters: Object.fromEntries(parameters) };
  }
  const rest = routes.find(({ routeKey }) => routeKey === '$default');
  return rest && { route: rest, pathParameters: {} };
}

type Authorization =
  | { readonly allowed: true; readonly context: JsonObject }
  | { readonly allowed: false; readonly status: 401 | 403 | 500 };

/** Calls Lambda authorizers and caches their answers by the value of the identity source, as API Gateway does. */
function createAuthorize(invoke: InvokeByName, now: () => number) {
  const cache = new Map<string, { readonly until: number; readonly answer: Promise<Authorization> }>();

  async function ask(plan: AuthorizerPlan, event: JsonObject): Promise<Authorization> {
    const result = await invoke(plan.functionName, JSON.stringify(event));
    if (result?.ok !== true) return { allowed: false, status: 500 };
    const said: Json = JSON.parse(result.result);
    if (!isObject(said) || said['isAuthorized'] !== true) return { allowed: false, status: 403 };
    const { context = {} } = said;
    return { allowed: true, context: isObject(context) ? context : {} };
  }

  /** @param event in payload format 2.0, as the route's function gets it */
  return async (plan: AuthorizerPlan, identity: string | undefined, event: JsonObject): Promise<Authorization> => {
    if (identity === undefined || identity === '') return { allowed: false, status: 401 };
    const key = `${plan.functionName} ${identity}`;
    const before = cache.get(key);
    if (before !== undefined && before.until > now()) return before.answer;
    const answer = ask(plan, { ...event, type: 'REQUEST', identitySource: [identity] });
    cache.set(key, { until: now() + plan.ttlSeconds * 1000, answer });
    const settled = await answer;
    if (!settled.allowed && settled.status === 500) cache.delete(key);
    return settled;
  };
}

/** Answers a preflight as API Gateway does: without a function, and without permission for other origins. */
function answerPreflight(cors: CorsPlan | undefined, request: IncomingMessage, response: ServerResponse): boolean {
  const { origin, 'access-control-request-method': wanted } = request.headers;
  if (cors === undefined || request.method !== 'OPTIONS' || wanted === undefined) return false;
  const allowed = isAllowed(cors, origin) && {
    ...corsHeaders(cors, origin),
    'access-control-allow-methods': cors.methods.join(','),
    'access-control-allow-headers': cors.headers.join(','),
    'access-control-max-age': String(cors.max_age_seconds),
  };
  response.writeHead(204, allowed || {}).end();
  return true;
}

/** The headers that let a page read an answer; none for pages of other origins. */
function corsHeaders(cors: CorsPlan | undefined, origin: string | undefined): Record<string, string> {
  if (cors === undefined || origin === undefined || !isAllowed(cors, origin)) return {};
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': cors.exposed.join(',') };
}

export function isAllowed(cors: CorsPlan | undefined, origin: string | undefined): boolean {
  return cors !== undefined && origin !== undefined && cors.origins.includes(origin);
}
