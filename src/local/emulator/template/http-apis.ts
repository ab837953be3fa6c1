import * as v from 'valibot';
import { PAGE_CORS } from '../../../application/contract/api/page-cors.ts';
import { type JsonObject, read } from '../../support/json.ts';
import { nameInArn } from './references.ts';

/** An HTTP API's routes, each with its function and its authorizer. */
export interface HttpApiPlan {
  readonly routes: readonly HttpRoutePlan[];
  /** The pages that may call it. Absent: none. */
  readonly cors?: CorsPlan;
}

export interface CorsPlan {
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  /** In lower case. */
  readonly headers: readonly string[];
  readonly exposed: readonly string[];
  readonly max_age_seconds: number;
}

export interface HttpRoutePlan {
  /** As in the template: `GET /v1/things/{id}`. */
  readonly routeKey: string;
  readonly functionName: string;
  readonly authorizer?: AuthorizerPlan;
}

export interface AuthorizerPlan {
  readonly functionName: string;
  /** Header in lower case. A request without it is refused; the authorizer's answers are cached by its value. */
  readonly header: string;
  readonly ttlSeconds: number;
}

/** A resource with the value of its `Ref` and its resolved properties. */
export interface NamedResource {
  readonly id: string;
  readonly ref: string;
  readonly properties: JsonObject;
}

const route = v.object({
  RouteKey: v.string(),
  Target: v.string(),
  AuthorizationType: v.optional(v.string(), 'NONE'),
  AuthorizerId: v.optional(v.string(), ''),
});
const texts = v.optional(v.array(v.string()), []);
const api = v.object({
  CorsConfiguration: v.optional(
    v.object({
      AllowOrigins: texts,
      AllowMethods: texts,
      AllowHeaders: texts,
      ExposeHeaders: texts,
      MaxAge: v.optional(v.number(), 0),
    }),
  ),
});

/** @throws Error that names the resource and what the local runtime does not support */
export function httpApiFrom(
  routes: readonly NamedResource[],
  integrations: readonly NamedResource[],
  authorizers: readonly NamedResource[],
  apis: readonly NamedResource[] = [],
): HttpApiPlan {
  const functions = new Map(integrations.map((one) => [`integrations/${one.ref}`, integrationFunction(one)]));
  const checks = new Map(authorizers.map((one) => [one.ref, authorizerFrom(one)]));
  const [cors] = apis.flatMap(({ id, properties }) => read(api, properties, id).CorsConfiguration ?? []);
  return {
    ...(cors && {
      cors: {
        origins: cors.AllowOrigins,
        methods: cors.AllowMethods,
        headers: cors.AllowHeaders,
        exposed: cors.ExposeHeaders,
        max_age_seconds: cors.MaxAge,
      },
    }),
    routes: routes.map(({ id, properties }) => {
      const { RouteKey: routeKey, Target, AuthorizationType, AuthorizerId } = read(route, properties, id);
      const functionName = functions.get(Target);
      if (functionName === undefined) throw new Error(`${id}: there is no integration ${Target}`);
      if (AuthorizationType === 'NONE') return { routeKey, functionName };
      const authorizer = checks.get(AuthorizerId);
      if (authorizer === undefined) throw new Error(`${id}: authorization ${AuthorizationType} is unknown`);
      return { routeKey, functionName, authorizer };
    }),
  };
}

/** The plan with more origins whose pages may call it, by the rules that a configured stage has. */
export function withOrigins(plan: HttpApiPlan, origins: readonly string[]): HttpApiPlan {
  if (origins.length === 0) return plan;
  const cors = plan.cors ?? { ...PAGE_CORS, origins: [] };
  return { ...plan, cors: { ...cors, origins: [...cors.origins, ...origins] } };
}

const integration = v.object({
  IntegrationType: v.literal('AWS_PROXY'),
  PayloadFormatVersion: v.literal('2.0'),
  IntegrationUri: v.string(),
});

function integrationFunction({ id, properties }: NamedResource): string {
  const given = v.safeParse(integration, properties);
  if (given.success) return nameInArn(given.output.IntegrationUri);
  throw new Error(`${id}: the local runtime knows only Lambda integrations of payload format 2.0`);
}

const authorizer = v.object({
  IdentitySource: v.tuple([v.pipe(v.string(), v.regex(/^\$request\.header\.[A-Za-z0-9-]+$/))]),
  AuthorizerUri: v.pipe(v.string(), v.regex(/\/functions\/arn:[^/]+\/invocations$/)),
  EnableSimpleResponses: v.literal(true),
  AuthorizerResultTtlInSeconds: v.optional(v.number(), 0),
});

function authorizerFrom({ id, properties }: NamedResource): AuthorizerPlan {
  const given = v.safeParse(authorizer, properties);
  if (!given.success) {
    throw new Error(`${id}: the local runtime knows only Lambda authorizers by one header with simple responses`);
  }
  const { IdentitySource, AuthorizerUri, AuthorizerResultTtlInSeconds: ttlSeconds } = given.output;
  const functionName = nameInArn(AuthorizerUri.split('/').at(-2) ?? '');
  return { functionName, header: IdentitySource[0].replace('$request.header.', '').toLowerCase(), ttlSeconds };
}
