import { PAGE_CORS } from '../../../adapters/api/page-cors.ts';
import { type JsonObject, listAt, numberAt, objectAt, textAt } from '../../support/json.ts';
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

/** @throws Error that names the resource and what the local runtime does not support */
export function httpApiFrom(
  routes: readonly NamedResource[],
  integrations: readonly NamedResource[],
  authorizers: readonly NamedResource[],
  apis: readonly NamedResource[] = [],
): HttpApiPlan {
  const functions = new Map(integrations.map((one) => [`integrations/${one.ref}`, integrationFunction(one)]));
  const checks = new Map(authorizers.map((one) => [one.ref, authorizerFrom(one)]));
  const [cors] = apis.flatMap(corsFrom);
  return {
    ...(cors && { cors }),
    routes: routes.map(({ id, properties }) => {
      const target = textAt(properties['Target'], `${id}.Target`);
      const functionName = functions.get(target);
      if (functionName === undefined) throw new Error(`${id}: there is no integration ${target}`);
      const authorizer = checks.get(String(properties['AuthorizerId']));
      const type = properties['AuthorizationType'] ?? 'NONE';
      if (type !== 'NONE' && authorizer === undefined)
        throw new Error(`${id}: authorization ${String(type)} is unknown`);
      return {
        routeKey: textAt(properties['RouteKey'], `${id}.RouteKey`),
        functionName,
        ...(type !== 'NONE' && authorizer !== undefined && { authorizer }),
      };
    }),
  };
}

/** The plan with more origins whose pages may call it, by the rules that a configured stage has. */
export function withOrigins(plan: HttpApiPlan, origins: readonly string[]): HttpApiPlan {
  if (origins.length === 0) return plan;
  const cors = plan.cors ?? { ...PAGE_CORS, origins: [] };
  return { ...plan, cors: { ...cors, origins: [...cors.origins, ...origins] } };
}

function corsFrom({ id, properties }: NamedResource): CorsPlan[] {
  const { CorsConfiguration: cors } = properties;
  if (cors === undefined) return [];
  const given = objectAt(cors, `${id}.CorsConfiguration`);
  const texts = (name: string) =>
    listAt(given[name] ?? [], `${id}.CorsConfiguration.${name}`).map((one) => textAt(one, `${id}.${name}`));
  return [
    {
      origins: texts('AllowOrigins'),
      methods: texts('AllowMethods'),
      headers: texts('AllowHeaders'),
      exposed: texts('ExposeHeaders'),
      max_age_seconds: numberAt(given['MaxAge'], `${id}.CorsConfiguration.MaxAge`, 0),
    },
  ];
}

function integrationFunction({ id, properties }: NamedResource): string {
  if (properties['IntegrationType'] !== 'AWS_PROXY' || properties['PayloadFormatVersion'] !== '2.0') {
    throw new Error(`${id}: the local runtime knows only Lambda integrations of payload format 2.0`);
  }
  return nameInArn(textAt(properties['IntegrationUri'], `${id}.IntegrationUri`));
}

const IDENTITY = /^\$request\.header\.([A-Za-z0-9-]+)$/;
const FUNCTION_IN_URI = /\/functions\/(arn:[^/]+)\/invocations$/;

function authorizerFrom({ id, properties }: NamedResource): AuthorizerPlan {
  const source = textAt(listAt(properties['IdentitySource'], `${id}.IdentitySource`)[0], `${id}.IdentitySource`);
  const header = IDENTITY.exec(source)?.[1]?.toLowerCase();
  const arn = FUNCTION_IN_URI.exec(textAt(properties['AuthorizerUri'], `${id}.AuthorizerUri`))?.[1];
  if (header === undefined || arn === undefined || properties['EnableSimpleResponses'] !== true) {
    throw new Error(`${id}: the local runtime knows only Lambda authorizers by one header with simple responses`);
  }
  const ttlSeconds = numberAt(properties['AuthorizerResultTtlInSeconds'], `${id}.AuthorizerResultTtlInSeconds`, 0);
  return { functionName: nameInArn(arn), header, ttlSeconds };
}
