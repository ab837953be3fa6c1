import * as v from 'valibot';
import { isRecipientOf, type PageToken, scopesFor } from '../../../src/adapters/api-keys/page-token.ts';
import type { RouteRights } from '../../../src/application/contract/api/route.ts';
import { SCOPES, type Scope } from '../../../src/core/intake/api-scopes.ts';
import type { NotificationRequest } from '../../../src/core/intake/notification-request.ts';
import { CHANNELS } from '../../../src/core/model/channels.ts';
import { Problem } from '../../../src/core/model/problem.ts';

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
  rights: v.union([
    v.strictObject({
      send: v.literal(true),
      channel: v.optional(v.picklist(CHANNELS)),
      recipient: v.optional(v.strictObject({ hash: text, key: text })),
      integration_config_id: v.optional(text),
    }),
    v.strictObject({ log_ids: v.array(text) }),
  ]),
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

interface Request {
  readonly log_id: string | undefined;
  readonly now: Date;
}

/**
 * Checks what the caller may do. The authorizer's answer is cached by the header for a minute, whatever the route: so
 * everything that depends on route and time is checked here.
 * @throws Problem unauthenticated, forbidden
 */
export function checkRights(caller: Caller | undefined, route: RouteRights, { log_id, now }: Request): asserts caller {
  if (caller === undefined) {
    throw new Problem(
      'unauthenticated',
      'Send a valid API key, Authorization: Bearer nrk_<key_id>_<secret>, or a token of POST /v1/tokens that has not expired.',
    );
  }
  const { token, scopes } = caller;
  if (token !== undefined && Date.parse(token.expires_at) <= now.getTime()) {
    throw new Problem('unauthenticated', 'The token has expired. Ask for a new one: POST /v1/tokens.');
  }
  if (token !== undefined && !covers(token, route, log_id)) {
    throw new Problem('forbidden', 'This token may not do this: it is for other requests, or for other log_ids.');
  }
  if (route.scope !== 'any' && route.scope !== 'none' && !scopes.includes(route.scope)) {
    throw new Problem('forbidden', `This API key lacks the scope ${route.scope}.`);
  }
}

function covers({ rights }: Required<Caller>['token'], { tokens }: RouteRights, log_id: string | undefined): boolean {
  if ('send' in rights) return tokens === 'send';
  return tokens === 'log_id' && log_id !== undefined && rights.log_ids.includes(log_id);
}

/** Whether a field says where a notification goes. A field that is new has to be put here. */
const SAYS_WHERE = {
  channel: true,
  recipient: true,
  integration_config_id: true,
  fallback: true,
  priority: false,
  scheduled_at: false,
  max_retry_count: false,
  failed_attempt: false,
  recipient_type: false,
  subject: false,
  body: false,
  format: false,
  notification_id: false,
  setting_id: false,
  template_id: false,
  traceparent: false,
} as const satisfies Readonly<Record<keyof NotificationRequest, boolean>>;
type SaysWhere = {
  [F in keyof typeof SAYS_WHERE]: (typeof SAYS_WHERE)[F] extends true ? F : never;
}[keyof typeof SAYS_WHERE];

/** Checks what a page hands over: a token that is narrowed takes nothing that leads elsewhere. @throws Problem forbidden */
export function checkSend({ rights }: Required<Caller>['token'], asked: NotificationRequest): void {
  if (!('send' in rights)) return;
  const { send: _, channel, recipient, integration_config_id } = rights;
  if (channel === undefined && recipient === undefined && integration_config_id === undefined) return;
  const fits: Readonly<Record<SaysWhere, boolean>> = {
    channel: channel === undefined || channel === asked.channel,
    recipient: recipient === undefined || isRecipientOf(recipient, asked.recipient),
    integration_config_id: integration_config_id === asked.integration_config_id,
    fallback: asked.fallback === undefined,
  };
  if (Object.values(fits).every(Boolean)) return;
  throw new Problem('forbidden', 'This token is for another channel, recipient or integration, and for no fallback.');
}
