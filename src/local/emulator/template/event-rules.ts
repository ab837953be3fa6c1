import { isObject, type JsonObject, listAt, objectAt, textAt } from '../../support/json.ts';
import { nameInArn } from './references.ts';

/** Where a rule sends what matches it. */
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

/** @throws Error that names a target which the local runtime cannot reach */
export function eventRulesFrom(id: string, properties: JsonObject, destinations: Destinations): EventRulePlan[] {
  const { EventPattern: pattern, EventBusName: bus } = properties;
  if (!isObject(pattern) || properties['State'] === 'DISABLED') return [];
  return listAt(properties['Targets'], `${id}.Targets`).map((one) => {
    const target = objectAt(one, `${id}.Targets`);
    const { InputTransformer: transformer, InputPath: path } = target;
    return {
      id,
      ...(typeof bus === 'string' && bus !== 'default' && { bus: nameOfBus(bus) }),
      pattern,
      target: targetFrom(textAt(target['Arn'], `${id}.Targets.Arn`), id, destinations),
      ...(isObject(transformer) && { transformer: transformerFrom(transformer, `${id}.Targets.InputTransformer`) }),
      ...(typeof path === 'string' && { path }),
    };
  });
}

/** A rule, and a caller of PutEvents, may name a bus by its ARN. */
export function nameOfBus(bus: string): string {
  return bus.slice(bus.lastIndexOf('/') + 1);
}

function targetFrom(arn: string, id: string, destinations: Destinations): RuleTarget {
  if (arn.includes(':sqs:')) return { kind: 'queue', name: nameInArn(arn) };
  if (arn.includes(':lambda:')) return { kind: 'function', name: nameInArn(arn) };
  const destination = destinations(nameInArn(arn));
  if (destination !== undefined) return destination;
  throw new Error(
    `${id}: the local runtime delivers events to queues, functions and API destinations, not to ${arn}: add it to src/local/emulator/events/event-bus.ts`,
  );
}

/** @param connection its connection; a key that is a reference to a secret is sent as the template has it */
export function apiDestinationFrom(id: string, properties: JsonObject, connection: JsonObject): RuleTarget {
  const { ApiKeyAuthParameters: key } = objectAt(connection['AuthParameters'] ?? {}, `${id}.AuthParameters`);
  const headers = isObject(key) ? { [String(key['ApiKeyName'])]: String(key['ApiKeyValue']) } : {};
  const url = textAt(properties['InvocationEndpoint'], `${id}.InvocationEndpoint`);
  return { kind: 'http', url, method: textAt(properties['HttpMethod'], `${id}.HttpMethod`), headers };
}

function transformerFrom(transformer: JsonObject, at: string): InputTransformer {
  const paths = objectAt(transformer['InputPathsMap'] ?? {}, `${at}.InputPathsMap`);
  return {
    paths: Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, textAt(path, `${at}.${name}`)])),
    template: textAt(transformer['InputTemplate'], `${at}.InputTemplate`),
  };
}
