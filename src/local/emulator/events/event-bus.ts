import { isObject, type Json, type JsonObject } from '../../support/json.ts';
import type { Log } from '../../support/log.ts';
import type { EventRulePlan, InputTransformer } from '../template/event-rules.ts';
import { matches } from './event-filter.ts';

/** EventBridge's default bus: sends an event to the queue of each rule that matches it. Never rejects. */
export type Publish = (event: JsonObject) => Promise<void>;

export function eventBus(
  rules: readonly EventRulePlan[],
  send: (queueName: string, body: string) => Promise<unknown>,
  log: Log,
): Publish {
  return async (event) => {
    for (const { id, pattern, queueName, transformer } of rules) {
      try {
        if (!matches(pattern, event)) continue;
        await send(queueName, transformer === undefined ? JSON.stringify(event) : transformed(transformer, event));
      } catch (error) {
        log(`rule ${id}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
}

/** As on EventBridge, a variable whose path finds no value becomes empty text, which makes the JSON invalid. */
export function transformed({ paths, template }: InputTransformer, event: JsonObject): string {
  return template.replaceAll(/<([\w-]+)>/g, (_, variable: string) => {
    const path = paths[variable];
    const value = path === undefined ? undefined : valueAt(path, event);
    return value === undefined ? '' : JSON.stringify(value);
  });
}

function valueAt(path: string, event: JsonObject): Json | undefined {
  const steps = path.replace(/^\$\.?/, '').match(/[^.[\]]+/g) ?? [];
  return steps.reduce<Json | undefined>((value, step) => {
    if (Array.isArray(value)) return value[Number(step)];
    return isObject(value) ? value[step] : undefined;
  }, event);
}
