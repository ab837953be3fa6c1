import { isObject, type JsonObject, listAt, objectAt, textAt } from '../../support/json.ts';
import { nameInArn } from './references.ts';

/** An EventBridge rule with an event pattern, and one of its targets. */
export interface EventRulePlan {
  readonly id: string;
  readonly pattern: JsonObject;
  readonly queueName: string;
  /** Makes the target's message from the event; undefined: the message is the whole event. */
  readonly transformer?: InputTransformer;
}

export interface InputTransformer {
  /** JSON path per variable, in EventBridge's form: `$.a.b[0]`. */
  readonly paths: Readonly<Record<string, string>>;
  /** JSON in which `<variable>` stands for a value. */
  readonly template: string;
}

/** @throws Error that names a target which is not a queue */
export function eventRulesFrom(id: string, properties: JsonObject): EventRulePlan[] {
  const pattern = properties['EventPattern'];
  if (!isObject(pattern) || properties['State'] === 'DISABLED') return [];
  return listAt(properties['Targets'], `${id}.Targets`).map((one) => {
    const target = objectAt(one, `${id}.Targets`);
    const arn = textAt(target['Arn'], `${id}.Targets.Arn`);
    if (!arn.includes(':sqs:')) {
      throw new Error(
        `${id}: the local runtime delivers events to queues, not to ${arn}: add it to src/local/emulator/events/event-bus.ts`,
      );
    }
    const transformer = target['InputTransformer'];
    return {
      id,
      pattern,
      queueName: nameInArn(arn),
      ...(isObject(transformer) && { transformer: transformerFrom(transformer, `${id}.Targets.InputTransformer`) }),
    };
  });
}

function transformerFrom(transformer: JsonObject, at: string): InputTransformer {
  const paths = objectAt(transformer['InputPathsMap'] ?? {}, `${at}.InputPathsMap`);
  return {
    paths: Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, textAt(path, `${at}.${name}`)])),
    template: textAt(transformer['InputTemplate'], `${at}.InputTemplate`),
  };
}
