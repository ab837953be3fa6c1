import * as v from 'valibot';
import { SCOPES, type Scope } from '../../../src/adapters/api-keys/api-key.ts';

/** The owner and rights of the API key of a request, as the authorizer passes them to the other functions. */
export interface Caller {
  readonly tenant_id: string;
  readonly key_id: string;
  readonly scopes: readonly Scope[];
  /** Requests per second. */
  readonly rate_limit: number;
}

/** The authorizer's context: API Gateway passes on text only. */
export interface CallerContext {
  readonly tenant_id: string;
  readonly key_id: string;
  /** Separated by spaces. */
  readonly scopes: string;
  readonly rate_limit: string;
}

export function toContext({ tenant_id, key_id, scopes, rate_limit }: Caller): CallerContext {
  return { tenant_id, key_id, scopes: scopes.join(' '), rate_limit: String(rate_limit) };
}

const text = v.pipe(v.string(), v.minLength(1));
const caller = v.object({
  tenant_id: text,
  key_id: text,
  scopes: v.pipe(
    text,
    v.transform((scopes) => SCOPES.filter((scope) => scopes.split(' ').includes(scope))),
  ),
  rate_limit: v.pipe(text, v.transform(Number), v.number(), v.minValue(0.001)),
});

/** Undefined when the authorizer found no valid key or did not run. */
export function fromContext(context: unknown): Caller | undefined {
  const parsed = v.safeParse(caller, context);
  return parsed.success ? parsed.output : undefined;
}
