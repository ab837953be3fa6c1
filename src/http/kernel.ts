import { createHash } from 'node:crypto';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type * as v from 'valibot';
import { PROBLEMS, Problem, problemDocument, problemType, unavailable } from '../core/model/problem.ts';
import type { Clock } from '../core/model/time.ts';
import { check } from './check.ts';
import { inPath, type Match, matchRoute, queryOf } from './paths.ts';

type Texts = Readonly<Record<string, string | undefined>>;

/** A request, whatever brought it: an event of API Gateway, or a server on loopback. */
export interface HttpRequest<C> {
  readonly method: string;
  /** Without the query, still encoded. */
  readonly path: string;
  /** The route and its decoded parameters, where API Gateway has found them. */
  readonly matched?: { readonly key: string; readonly path: Texts } | undefined;
  readonly query: Texts;
  /** Names in lower case. */
  readonly headers: Texts;
  readonly body: Buffer;
  /** Who calls, as the front found out. */
  readonly caller: C;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; empty with 304. */
  readonly body: string;
}

/** A request for a route. Query and body are checked when a handler asks for them. */
export interface Given<C, Q = unknown, B = unknown> {
  readonly caller: C;
  readonly path: Texts;
  readonly headers: Texts;
  /** @throws Problem that names every fault */
  readonly query: () => Q;
  /** @throws Problem that names every fault */
  readonly body: () => B;
  /** The body before its schema has checked it. @throws Problem where it is not JSON */
  readonly json: () => unknown;
}

export interface Reply {
  /** 200 unless given. */
  readonly status?: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Added to the log line: ids and counts, never content. */
  readonly log?: Readonly<Record<string, unknown>>;
}

/** A route as data: its schemas check requests, and the OpenAPI document is made from them. */
export interface Route<C> {
  /** As API Gateway names routes: `GET /v1/emails/{email_id}`. */
  readonly key: string;
  readonly query?: v.GenericSchema;
  readonly body?: v.GenericSchema;
  /** Largest body in bytes. */
  readonly max_bytes?: number;
  readonly handle: (given: Given<C, never, never>) => Promise<Reply>;
}

/** What the log keeps of an answer, with what the route adds. */
interface Seen {
  readonly status: number;
  readonly duration_ms: number;
}

export interface KernelOptions<C, A, R> {
  /** Checks what the caller may do. @throws Problem */
  readonly admit: (route: R, request: HttpRequest<C>, path: Texts) => Promise<A> | A;
  readonly clock: Clock;
  readonly noSuchPath: string;
  /** The body of a refusal; else the problem's document. */
  readonly refusal?: ((problem: Problem, match: Match) => object) | undefined;
  /** Says that the request failed on our side, and what to do. */
  readonly failed?: string;
  /** Takes what failed on our side; the answer does not say more. */
  readonly onFault: (error: unknown, request: HttpRequest<C>, key: string) => void;
  readonly onAnswer?: (request: HttpRequest<C>, seen: Seen) => void;
  /** Whether a GET is answered with an ETag, and with 304 where If-None-Match has it. */
  readonly etag?: boolean;
  /** What follows the type of the content, such as `; charset=utf-8`. */
  readonly charset?: string;
}

/** Milliseconds until a request is answered with 503: less than a function's timeout, which gives no answer at all. */
export const ANSWER_MS = 15_000;
/** Largest body in bytes of a route that names none. */
const MAX_BYTES = 64 * 1024;

/** Answers requests by routes. It never rejects: every failure is answered with a problem. */
export function createKernel<C, A, R extends Route<A>>(routes: readonly R[], options: KernelOptions<C, A, R>) {
  const { admit, clock, refusal = problemDocument, charset = '', etag = false } = options;
  const byKey = new Map(routes.map((route) => [route.key, route]));
  const keys = [...byKey.keys()];

  function find({ matched, method, path }: HttpRequest<C>): Match | undefined {
    if (matched !== undefined && byKey.has(matched.key)) {
      return { key: matched.key, path: inPath(matched.path, (segment) => segment) };
    }
    return matchRoute(keys, method, path);
  }

  async function reply(request: HttpRequest<C>, match: Match | undefined): Promise<Reply> {
    const route = byKey.get(match?.key ?? '');
    if (match === undefined || route === undefined) throw new Problem('no-such-path', options.noSuchPath);
    const { path } = match;
    const caller = await admit(route, request, path);
    const { max_bytes = MAX_BYTES, query, body } = route;
    if (request.body.length > max_bytes) {
      throw new Problem('too-large', `The body of the request may have at most ${max_bytes} bytes.`);
    }
    let read: { readonly value: unknown } | undefined;
    const json = () => {
      read ??= { value: parsed(request.body) };
      return read.value;
    };
    const given: Given<A> = {
      caller,
      path,
      headers: request.headers,
      query: () => (query === undefined ? request.query : check(query, request.query)),
      body: () => (body === undefined ? json() : check(body, json())),
      json,
    };
    return route.handle(given as Given<A, never, never>);
  }

  return async (request: HttpRequest<C>): Promise<HttpAnswer> => {
    const started = clock().getTime();
    const match = find(request);
    const send = (given: Reply, type: string): HttpAnswer => {
      const status = given.status ?? 200;
      options.onAnswer?.(request, { status, duration_ms: clock().getTime() - started, ...given.log });
      const headers = { 'content-type': `${type}${charset}`, 'cache-control': 'no-store', ...given.headers };
      return { status, headers, body: JSON.stringify(given.body) };
    };
    try {
      const answer = send(await inTime(reply(request, match)), 'application/json');
      return etag && request.method === 'GET' ? unlessKnown(answer, request.headers['if-none-match']) : answer;
    } catch (error) {
      const key = match?.key ?? '';
      if (!(error instanceof Problem)) options.onFault(error, request, key);
      const problem = error instanceof Problem ? error : unavailable(options.failed);
      return send(
        {
          status: PROBLEMS[problem.problem].status,
          body: refusal(problem, match ?? { key, path: {} }),
          headers: retryAfter(problem),
          log: { problem: problemType(problem.problem) },
        },
        'application/problem+json',
      );
    }
  };
}

/** @throws Error when there is no answer in time. The work may still take effect, as after any lost answer. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${ANSWER_MS} ms.`)), ANSWER_MS);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** The Retry-After header, if the problem has a time for it. */
export function retryAfter({ extras: { retry_after_seconds } }: Problem): Readonly<Record<string, string>> {
  return retry_after_seconds === undefined ? {} : { 'retry-after': String(Math.max(1, retry_after_seconds)) };
}

function unlessKnown(answer: HttpAnswer, known = ''): HttpAnswer {
  const etag = `"${createHash('sha256').update(answer.body).digest('base64url').slice(0, 22)}"`;
  const headers = { ...answer.headers, 'cache-control': 'no-cache, private', etag };
  // A proxy that compresses may have made the tag weak.
  const isKnown = known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
  return isKnown ? { status: 304, headers, body: '' } : { ...answer, headers };
}

/** Other decoders replace what is not UTF-8: another text than the producer's would be sent. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(body));
  } catch {
    // The parser's own message is not passed on: it quotes the body.
    throw new Problem('invalid-request', 'The body of the request must be JSON in UTF-8.', {
      errors: [{ path: '', rule: 'json', message: 'must be JSON in UTF-8' }],
    });
  }
}

/** An event in payload format 2.0, whatever authorizer there is. */
type ProxyEvent = Omit<APIGatewayProxyEventV2, 'requestContext'> & {
  readonly requestContext: { readonly http: { readonly method: string } };
};

export function requestOf<C>(event: ProxyEvent, caller: C): HttpRequest<C> {
  const { routeKey, rawPath, rawQueryString, pathParameters, headers, body, isBase64Encoded } = event;
  return {
    method: event.requestContext.http.method,
    // It comes decoded, and the kernel decodes what it matches.
    path: encodeURI(rawPath.toWellFormed()).replaceAll('#', '%23').replaceAll('?', '%3F'),
    // Gateways that are not AWS's send null for what is not there.
    matched: { key: routeKey, path: pathParameters ?? {} },
    query: queryOf(new URLSearchParams(rawQueryString)),
    headers,
    body: Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8'),
    caller,
  };
}

export function resultOf({ status, headers, body }: HttpAnswer): APIGatewayProxyStructuredResultV2 {
  return { statusCode: status, headers: { ...headers }, body };
}
