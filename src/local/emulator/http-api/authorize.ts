import { isObject, type Json, type JsonObject } from '../../support/json.ts';
import type { InvokeByName } from '../lambda/invocation.ts';
import type { AuthorizerPlan } from '../template/http-apis.ts';

export type Authorization =
  | { readonly allowed: true; readonly context: JsonObject }
  | { readonly allowed: false; readonly status: 401 | 403 | 500 };

/** Calls Lambda authorizers and caches their answers by the value of the identity source, as API Gateway does. */
export function createAuthorize(invoke: InvokeByName, now: () => number) {
  const cache = new Map<string, { readonly until: number; readonly answer: Promise<Authorization> }>();

  async function ask(plan: AuthorizerPlan, event: JsonObject): Promise<Authorization> {
    const result = await invoke(plan.functionName, JSON.stringify(event));
    if (result?.ok !== true) return { allowed: false, status: 500 };
    const said: Json = JSON.parse(result.result);
    if (!isObject(said) || said['isAuthorized'] !== true) return { allowed: false, status: 403 };
    const { context = {} } = said;
    return { allowed: true, context: isObject(context) ? context : {} };
  }

  /** @param event in payload format 2.0, as the route's function gets it */
  return async (plan: AuthorizerPlan, identity: string | undefined, event: JsonObject): Promise<Authorization> => {
    if (identity === undefined || identity === '') return { allowed: false, status: 401 };
    const key = `${plan.functionName} ${identity}`;
    const before = cache.get(key);
    if (before !== undefined && before.until > now()) return before.answer;
    const answer = ask(plan, { ...event, type: 'REQUEST', identitySource: [identity] });
    cache.set(key, { until: now() + plan.ttlSeconds * 1000, answer });
    const settled = await answer;
    if (!settled.allowed && settled.status === 500) cache.delete(key);
    return settled;
  };
}
