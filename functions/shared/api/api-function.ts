import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyEventV2WithLambdaAuthorizer,
  APIGatewayProxyStructuredResultV2,
} from 'aws-lambda';
import * as v from 'valibot';
import { idempotencyKey } from '../../../src/adapters/api/request-schemas.ts';
import { createSharedLimit, createTokenBuckets, type RequestCounts } from '../../../src/core/intake/rate-limit.ts';
import { Problem, type ProblemName } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { requestOf, resultOf } from '../../../src/http/api-gateway.ts';
import { createKernel, type Given, type HttpRequest, type Reply, type Route } from '../../../src/http/kernel.ts';
import type { Observability } from '../runtime/observability.ts';
import { type Caller, checkRights, fromContext, type RouteRights } from './caller.ts';

export type ApiEvent = APIGatewayProxyEventV2 | APIGatewayProxyEventV2WithLambdaAuthorizer<unknown>;

export interface ApiRequest<Q = unknown, B = unknown> extends Given<Caller, Q, B> {
  /** The Idempotency-Key; empty where the route needs none and none was sent. */
  readonly idempotency_key: string;
}

/** A route of the API as data, of which api-document.ts makes the OpenAPI document. */
export interface ApiRoute extends Omit<Route<Caller>, 'handle'>, RouteRights {
  readonly operation_id: string;
  readonly summary: string;
  /** Schemas of parameters in the path; the others are any text. */
  readonly path?: Readonly<Record<string, v.GenericSchema>>;
  /** How the route treats an Idempotency-Key. Absent: it looks at none. */
  readonly idempotency?: {
    readonly needed: boolean;
    /** For the document, which has no key to send without it. */
    readonly description?: string;
  };
  readonly answer: {
    readonly status: 200 | 201 | 202;
    readonly description: string;
    /** Absent: any object. */
    readonly schema?: v.GenericSchema;
    readonly headers?: object;
  };
  /** What it answers with 200 where `answer` is for something else. */
  readonly at_once?: { readonly description: string; readonly schema: v.GenericSchema };
  /** What it refuses beside what any route does, and beside what its schemas do. */
  readonly problems?: readonly ProblemName[];
  readonly handle: (request: ApiRequest<never, never>) => Promise<Reply>;
}

/** For the document: headers of answers that may hold a repeat, or a result of 503. */
export const REPLAYED = {
  'Idempotent-Replayed': { description: '`true` on a repeat', schema: { const: 'true' } },
};
export const RETRY_AFTER_SOME = {
  'Retry-After': {
    description: 'Whole seconds, if a result is 503',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
};

interface Typed<Q extends v.GenericSchema, B extends v.GenericSchema> extends Omit<ApiRoute, 'query' | 'body'> {
  readonly query?: Q;
  readonly body?: B;
  readonly handle: (request: ApiRequest<v.InferOutput<Q>, v.InferOutput<B>>) => Promise<Reply>;
}

/** Types what a handler gets by the schemas of its route. */
export const route = <Q extends v.GenericSchema, B extends v.GenericSchema>(given: Typed<Q, B>): ApiRoute => given;

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
  routes: readonly ApiRoute[],
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
function withKey({ handle, ...route }: ApiRoute) {
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
