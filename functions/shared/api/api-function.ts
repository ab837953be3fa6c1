import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithLambdaAuthorizer,
  APIGatewayProxyStructuredResultV2,
} from 'aws-lambda';
import { createSharedLimit, type RequestCounts } from '../../../src/core/intake/rate-limit/shared-limit.ts';
import { createTokenBuckets } from '../../../src/core/intake/rate-limit/token-bucket.ts';
import { PROBLEMS, Problem, problemDocument, problemType, unavailable } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { Observability } from '../runtime/observability.ts';
import { type Caller, fromContext } from './caller.ts';
import { checkRights, type RouteRights } from './check-rights.ts';

export type ApiEvent = APIGatewayProxyEventV2 | APIGatewayProxyEventV2WithLambdaAuthorizer<unknown>;

export interface ApiRequest {
  readonly caller: Caller;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly path: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** @throws Problem when the body is not JSON */
  readonly json: () => unknown;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Added to the log line: ids and counts, never content. */
  readonly log?: Readonly<Record<string, unknown>>;
}

export interface Route extends RouteRights {
  /** Largest body in bytes. */
  readonly max_bytes: number;
  readonly handle: (request: ApiRequest) => Promise<ApiAnswer>;
}

/** A route that needs no API key. */
interface OpenRoute {
  readonly open: () => Promise<ApiAnswer>;
}

/** Keys are `METHOD /path/{parameter}`, as API Gateway names routes. */
export type Routes = Readonly<Record<string, Route | OpenRoute>>;

/**
 * Milliseconds until a request is answered with 503: less than the function's timeout, which gives no answer at all.
 */
export const ANSWER_MS = 15_000;

/** Requests per second and token: a page shows some notifications and sends what a person writes. */
const TOKEN_RATE_LIMIT = 10;

export interface ApiDeps {
  readonly clock: Clock;
  readonly counts: RequestCounts;
}

/**
 * The handler of a group of routes. Every failure is answered with a problem document. The caller's rights are checked
 * here, because the authorizer lets every request through and only identifies the key
 * (docs/decisions/intake/keys-rights-and-limits.md#0052).
 */
export function createApi(routes: Routes, { clock, counts }: ApiDeps, { logger }: Pick<Observability, 'logger'>) {
  const takeToken = createTokenBuckets(clock);
  const countRequest = createSharedLimit({
    counts,
    clock,
    onFault: (error) =>
      logger.warn('requests could not be counted with the others’; each instance limits its own', {
        error: error as Error,
      }),
  });

  async function answer(event: ApiEvent, caller: Caller | undefined): Promise<ApiAnswer> {
    const route = routes[event.routeKey];
    if (route === undefined) {
      throw new Problem(
        'no-such-path',
        'The API has no such path, or the path has no such method: see GET /v1/openapi.json.',
      );
    }
    if ('open' in route) return route.open();
    const log_id = event.pathParameters?.['log_id'];
    checkRights(caller, route, { log_id, now: clock() });
    await limit(caller);
    const body = bodyOf(event);
    if (body.length > route.max_bytes) {
      throw new Problem('too-large', `The body of the request may have at most ${route.max_bytes} bytes.`);
    }
    return route.handle({
      caller,
      headers: event.headers,
      path: event.pathParameters ?? {},
      query: event.queryStringParameters ?? {},
      json: () => parse(body),
    });
  }

  /** @throws Problem rate-limited */
  async function limit({ key_id, rate_limit, token }: Caller): Promise<void> {
    // Pages count apart, so that no visitor of a page uses up what the producer's own servers may send.
    const counted = token === undefined ? key_id : `${key_id}#pages`;
    const own_ms = token === undefined ? 0 : takeToken(token.token_id, TOKEN_RATE_LIMIT);
    const wait_ms = own_ms || takeToken(counted, rate_limit) || (await countRequest(counted, rate_limit));
    if (wait_ms === 0) return;
    const who = own_ms > 0 ? `A token may make ${TOKEN_RATE_LIMIT}` : `This API key may make ${rate_limit}`;
    const extras = { retry_after_seconds: Math.ceil(wait_ms / 1000) };
    throw new Problem('rate-limited', `${who} requests per second.`, extras);
  }

  return async (event: ApiEvent): Promise<APIGatewayProxyStructuredResultV2> => {
    const started = clock().getTime();
    const caller = fromContext(authorizerContext(event));
    const line = {
      route: event.routeKey,
      tenant_id: caller?.tenant_id,
      key_id: caller?.key_id,
      token_id: caller?.token?.token_id,
    };
    const finish = (given: ApiAnswer, contentType: string): APIGatewayProxyStructuredResultV2 => {
      logger.info('request', { ...line, status: given.status, duration_ms: clock().getTime() - started, ...given.log });
      return {
        statusCode: given.status,
        headers: { 'content-type': contentType, 'cache-control': 'no-store', ...given.headers },
        body: JSON.stringify(given.body),
      };
    };
    try {
      return finish(await inTime(answer(event, caller)), 'application/json');
    } catch (error) {
      if (!(error instanceof Problem)) logger.error('request failed on our side', { ...line, error: error as Error });
      const problem = error instanceof Problem ? error : unavailable();
      return finish(problemAnswer(problem), 'application/problem+json');
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

function problemAnswer(problem: Problem): ApiAnswer {
  return {
    status: PROBLEMS[problem.problem].status,
    body: problemDocument(problem),
    log: { problem: problemType(problem.problem) },
    headers: retryAfter(problem),
  };
}

/** The Retry-After header, if the problem has a time for it. */
export function retryAfter({ extras: { retry_after_seconds } }: Problem): Readonly<Record<string, string>> {
  return retry_after_seconds === undefined ? {} : { 'retry-after': String(Math.max(1, retry_after_seconds)) };
}

function authorizerContext(event: ApiEvent): unknown {
  const { requestContext } = event;
  return 'authorizer' in requestContext ? requestContext.authorizer?.lambda : undefined;
}

function bodyOf({ body = '', isBase64Encoded }: ApiEvent): Buffer {
  return Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
}

/** Other decoders replace what is not UTF-8: another text than the producer's would be sent. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(body));
  } catch {
    // The parser's own message is not passed on: it quotes the body.
    throw new Problem('invalid-request', 'The body of the request must be JSON in UTF-8.', {
      errors: [{ path: '', rule: 'json', message: 'must be JSON in UTF-8' }],
    });
  }
}
