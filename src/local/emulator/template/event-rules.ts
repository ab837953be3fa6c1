import * as v from 'valibot';
import { type JsonObject, object, read } from '../../support/json.ts';
import { nameInArn } from './references.ts';

export type RuleTarget =
  | { readonly kind: 'queue' | 'function'; readonly name: string }
  | { readonly kind: 'http'; readonly url: string; readonly method: string; readonly headers: Record<string, string> };

/** An EventBridge rule with an event pattern, and one of its targets. */
export interface EventRulePlan {
  readonly id: string;
  /** Its bus; absent: the default bus of the account. */
  readonly bus?: string;
  readonly pattern: JsonObject;
  readonly target: RuleTarget;
  /** Makes the target's message from the event; undefined: the message is the whole event. */
  readonly transformer?: InputTransformer;
  /** The part of the event that is the message, in EventBridge's form; undefined: all of it. */
  readonly path?: string;
}

export interface InputTransformer {
  /** JSON path per variable, in EventBridge's form: `$.a.b[0]`. */
  readonly paths: Readonly<Record<string, string>>;
  /** JSON in which `<variable>` stands for a value. */
  readonly template: string;
}

/** Takes the name of an API destination. */
type Destinations = (name: string) => RuleTarget | undefined;

const transformer = v.pipe(
  v.object({ InputPathsMap: v.optional(v.record(v.string(), v.string()), {}), InputTemplate: v.string() }),
  v.transform(({ InputPathsMap: paths, InputTemplate: template }): InputTransformer => ({ paths, template })),
);
const rule = v.object({
  EventPattern: v.optional(object),
  EventBusName: v.optional(v.string(), 'default'),
  State: v.optional(v.string()),
  Targets: v.optional(
    v.array(
      v.object({
        Arn: v.string(),
        InputTransformer: v.optional(transformer),
        InputPath: v.optional(v.string()),
        HttpParameters: v.optional(v.object({ HeaderParameters: v.optional(v.record(v.string(), v.string())) })),
      }),
    ),
    [],
  ),
});

/** @throws Error that names a target which the local runtime cannot reach */
export function eventRulesFrom(id: string, properties: JsonObject, destinations: Destinations): EventRulePlan[] {
  const { EventPattern: pattern, EventBusName: bus, State, Targets } = read(rule, properties, id);
  if (pattern === undefined || State === 'DISABLED') return [];
  return Targets.map(({ Arn, InputTransformer: transformer, InputPath: path, HttpParameters: http }) => ({
    id,
    ...(bus !== 'default' && { bus: nameOfBus(bus) }),
    pattern,
    target: withHeaders(targetFrom(Arn, id, destinations), http?.HeaderParameters),
    ...(transformer && { transformer }),
    ...(path !== undefined && { path }),
  }));
}

/** The headers of a rule's own; those of the connection go before them. */
const withHeaders = (to: RuleTarget, added?: Readonly<Record<string, string>>): RuleTarget =>
  to.kind === 'http' ? { ...to, headers: { ...added, ...to.headers } } : to;

/** A rule, and a caller of PutEvents, may name a bus by its ARN. */
export const nameOfBus = (bus: string): string => bus.slice(bus.lastIndexOf('/') + 1);

function targetFrom(arn: string, id: string, destinations: Destinations): RuleTarget {
  if (arn.includes(':sqs:')) return { kind: 'queue', name: nameInArn(arn) };
  if (arn.includes(':lambda:')) return { kind: 'function', name: nameInArn(arn) };
  const destination = destinations(nameInArn(arn));
  if (destination !== undefined) return destination;
  throw new Error(
    `${id}: the local runtime delivers events to queues, functions and API destinations, not to ${arn}: add it to src/local/emulator/events/event-bus.ts`,
  );
}

const apiDestination = v.object({ InvocationEndpoint: v.string(), HttpMethod: v.string() });
const keyInHeader = v.object({
  AuthParameters: v.object({ ApiKeyAuthParameters: v.object({ ApiKeyName: v.string(), ApiKeyValue: v.string() }) }),
});

/** @param connection its connection; a key that is a reference to a secret is sent as the template has it */
export function apiDestinationFrom(id: string, properties: JsonObject, connection: JsonObject): RuleTarget {
  const { InvocationEndpoint: url, HttpMethod: method } = read(apiDestination, properties, id);
  const key = v.safeParse(keyInHeader, connection);
  const { ApiKeyName = '', ApiKeyValue = '' } = key.success ? key.output.AuthParameters.ApiKeyAuthParameters : {};
  return { kind: 'http', url, method, headers: key.success ? { [ApiKeyName]: ApiKeyValue } : {} };
}
