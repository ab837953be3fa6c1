import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithLambdaAuthorizer,
  APIGatewayProxyStructuredResultV2,
} from 'aws-lambda';
import * as v from 'valibot';
import { idempotencyKey } from '../../../src/application/contract/api/intake.ts';
import type { ApiRoute, ApiRoutes } from '../../../src/application/contract/api/route.ts';
import { createSharedLimit, createTokenBuckets, type RequestCounts } from '../../../src/core/intake/rate-limit.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { Decision } from '../../../src/core/operator/audit.ts';
import {
  createKernel,
  type Given,
  type HttpRequest,
  type Reply,
  requestOf,
  resultOf,
} from '../../../src/http/kernel.ts';
import type { Observability } from '../runtime/observability.ts';
import { type Caller, checkRights, fromContext } from './caller.ts';

export type ApiEvent = APIGatewayProxyEventV2 | APIGatewayProxyEventV2WithLambdaAuthorizer<unknown>;

export interface ApiRequest<Q = unknown, B = unknown> extends Given<Caller, Q, B> {
  /** The Idempotency-Key; empty where the route needs none and none was sent. */
  readonly idempotency_key: string;
}

/** What a schema of the route makes of the request. */
type Checked<R, N extends 'query' | 'body'> = R extends { readonly [K in N]: infer S extends v.GenericSchema }
  ? v.InferOutput<S>
  : unknown;

/** What the routes do, by the names of their operations. */
type Handlers<R extends ApiRoutes> = {
  readonly [N in keyof R]: (request: ApiRequest<Checked<R[N], 'query'>, Checked<R[N], 'body'>>) => Promise<Reply>;
};

/** Runs what a producer decided: its requests are in the log, and not in the audit log of operators. */
export const done = async <A>(decision: Decision<A> | Promise<Decision<A>>): Promise<A> =>
  (await (await decision).run()).answer;

export interface ServedRoute extends ApiRoute {
  readonly handle: (request: ApiRequest<never, never>) => Promise<Reply>;
}

export function serve<const R extends ApiRoutes>(routes: R, handlers: Handlers<R>): ServedRoute[] {
  return Object.entries(routes).map(([name, route]) => ({ ...route, handle: handlers[name as keyof R] }));
}

/** Largest body in bytes of a route that names none. */
const MAX_BYTES = 16 * 1024;

/** Requests per second and token: a page shows some notifications and sends what a person writes. */
const TOKEN_RATE_LIMIT = 10;

export interface ApiDeps {
  readonly clock: Clock;
  readonly counts: RequestCounts;
}

/** Who calls a route that needs no key. */
const ANYBODY: Caller = { tenant_id: '', key_id: '', scopes: [], rate_limit: 0 };

/**
 * The handler of a group of routes. Every failure is answered with a problem document. The caller's rights are checked
 * here, because the authorizer lets every request through and only identifies the key
 * (docs/decisions/intake/keys-rights-and-limits.md#0052).
 */
export function createApi(
  routes: readonly ServedRoute[],
  { clock, counts }: ApiDeps,
  { logger }: Pick<Observability, 'logger'>,
) {
  const takeToken = createTokenBuckets(clock);
  const countRequest = createSharedLimit({
    counts,
    clock,
    onFault: (error) =>
      logger.warn('requests could not be counted with the others’; each instance limits its own', {
        error: error as Error,
      }),
  });

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

  const answer = createKernel<Caller | undefined, Caller, ReturnType<typeof withKey>>(routes.map(withKey), {
    clock,
    noSuchPath: 'The API has no such path, or the path has no such method: see GET /v1/openapi.json.',
    async admit(route, { caller }, { log_id }) {
      if (route.scope === 'none') return ANYBODY;
      // Before the rights: refusals fill what all keys of the stage share, as answers do.
      if (caller !== undefined) await limit(caller);
      checkRights(caller, route, { log_id, now: clock() });
      return caller;
    },
    onFault: (error, request) =>
      logger.error('request failed on our side', { ...lineOf(request), error: error as Error }),
    onAnswer: (request, seen) => logger.info('request', { ...lineOf(request), ...seen }),
  });

  return async (event: ApiEvent): Promise<APIGatewayProxyStructuredResultV2> => {
    const { requestContext } = event;
    const context = 'authorizer' in requestContext ? requestContext.authorizer?.lambda : undefined;
    return resultOf(await answer(requestOf(event, fromContext(context))));
  };
}

function lineOf({ matched, caller }: HttpRequest<Caller | undefined>) {
  const { tenant_id, key_id, token } = caller ?? {};
  return { route: matched?.key, tenant_id, key_id, token_id: token?.token_id };
}

/** The route for the kernel: with its status, and with the key read before anything else. */
function withKey({ handle, ...route }: ServedRoute) {
  const { idempotency, answer } = route;
  return {
    max_bytes: MAX_BYTES,
    ...route,
    async handle(given: Given<Caller, never, never>): Promise<Reply> {
      const header = given.headers['idempotency-key'];
      const isRead = idempotency !== undefined && (idempotency.needed || header !== undefined);
      const idempotency_key = isRead ? readIdempotencyKey(header) : '';
      return { status: answer.status, ...(await handle({ ...given, idempotency_key })) };
    },
  };
}

/** @throws Problem */
function readIdempotencyKey(header: string | undefined): string {
  if (header !== undefined && v.is(idempotencyKey, header)) return header;
  throw new Problem(
    'idempotency-key-missing',
    'The header Idempotency-Key is required: 1 to 128 visible ASCII characters, the same for every try of one request.',
  );
}
