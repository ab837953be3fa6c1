import * as v from 'valibot';
import { SCOPES, type Scope } from '../../../src/adapters/api-keys/api-key.ts';
import { type PageToken, scopesFor } from '../../../src/adapters/api-keys/page-token.ts';

/** The owner and rights of the API key of a request, as the authorizer passes them to the other functions. */
export interface Caller {
  readonly tenant_id: string;
  readonly key_id: string;
  readonly scopes: readonly Scope[];
  /** Requests per second. */
  readonly rate_limit: number;
  /** The request is that of a web page, with a token of the key: it may do less than the key. */
  readonly token?: Omit<PageToken, 'key_id'>;
}

/** The authorizer's context: API Gateway passes on text only. */
export interface CallerContext {
  readonly tenant_id: string;
  readonly key_id: string;
  /** Separated by spaces. Empty with a token, so that nothing that does not know tokens takes one for a key. */
  readonly scopes: string;
  readonly rate_limit: string;
  /** JSON. */
  readonly token?: string;
}

export function toContext({ tenant_id, key_id, scopes, rate_limit, token }: Caller): CallerContext {
  return {
    tenant_id,
    key_id,
    scopes: token === undefined ? scopes.join(' ') : '',
    rate_limit: String(rate_limit),
    ...(token !== undefined && { token: JSON.stringify(token) }),
  };
}

const text = v.pipe(v.string(), v.minLength(1));
const ofBoth = {
  tenant_id: text,
  key_id: text,
  rate_limit: v.pipe(text, v.transform(Number), v.number(), v.minValue(0.001)),
};
const keyCaller = v.object({
  ...ofBoth,
  token: v.optional(v.undefined()),
  scopes: v.pipe(
    text,
    v.transform((scopes) => SCOPES.filter((scope) => scopes.split(' ').includes(scope))),
  ),
});
const token = v.object({
  token_id: text,
  expires_at: v.pipe(v.string(), v.isoTimestamp()),
  rights: v.union([v.strictObject({ send: v.literal(true) }), v.strictObject({ log_ids: v.array(text) })]),
});
const tokenCaller = v.object({ ...ofBoth, token: v.pipe(text, v.parseJson(), token) });

/** Undefined when the authorizer found no valid key or token, or did not run. */
export function fromContext(context: unknown): Caller | undefined {
  const byToken = v.safeParse(tokenCaller, context);
  if (byToken.success) return { ...byToken.output, scopes: scopesFor(byToken.output.token.rights) };
  const byKey = v.safeParse(keyCaller, context);
  if (!byKey.success) return undefined;
  const { token: _, ...caller } = byKey.output;
  return caller;
}
