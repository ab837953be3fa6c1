import { setTimeout } from 'node:timers/promises';
import { isObject, type Json, type JsonObject } from '../../support/json.ts';
import type { Log } from '../../support/running.ts';
import type { EventRulePlan, InputTransformer, RuleTarget } from '../template/event-rules.ts';
import { matches } from './event-filter.ts';

/** Sends an event to the target of each rule of the bus that matches it. Never rejects. @param bus absent: the default */
export type Publish = (event: JsonObject, bus?: string) => Promise<void>;

/** Hands a message to a target; rejects when the target did not take it. */
export type Deliver = (target: RuleTarget, body: string) => Promise<unknown>;

/** Milliseconds before each further try of a target; EventBridge tries for a day. */
const RETRY_MS = [500, 1_000, 2_000, 4_000] as const;

export function eventBus(
  rules: readonly EventRulePlan[],
  deliver: Deliver,
  log: Log,
  retries: readonly number[] = RETRY_MS,
): Publish {
  const tryAll = async (id: string, target: RuleTarget, body: string) => {
    for (const pause of [...retries, undefined]) {
      try {
        await deliver(target, body);
        return;
      } catch (error) {
        log(`rule ${id}: ${error instanceof Error ? error.message : String(error)}`);
        if (pause !== undefined) await setTimeout(pause);
      }
    }
  };
  return async (event, bus) => {
    const deliveries = rules
      .filter((rule) => rule.bus === bus && matches(rule.pattern, event))
      .map(({ id, target, transformer, path = '$' }) => {
        const body = transformer ? transformed(transformer, event) : JSON.stringify(valueAt(path, event) ?? null);
        // A function or server that is down must not hold up the other targets.
        return tryAll(id, target, body);
      });
    await Promise.all(deliveries);
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

/** EventBridge waits this long for the answer of an API destination. */
const DESTINATION_MS = 5_000;

export async function postTo(
  { url, method, headers }: Extract<RuleTarget, { kind: 'http' }>,
  body: string,
): Promise<void> {
  const signal = AbortSignal.timeout(DESTINATION_MS);
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal,
  });
  if (!answer.ok) throw new Error(`${new URL(url).host} answers ${answer.status}`);
}
