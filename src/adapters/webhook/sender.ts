import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import * as v from 'valibot';
import { chosenIntegration } from '../../core/delivery/conduct-attempt.ts';
import type { Delivery, Sender } from '../../core/delivery/ports.ts';
import { refusedByUs } from '../../core/model/error-types.ts';
import type { NotificationRow } from '../../core/model/notification.ts';
import type { PacedReceiver } from '../../core/pacing/ports.ts';
import { createTargetPoster, looksLikeUrl, postTo, type TargetPosterOptions, targetPorts } from '../http/target.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { providerSafeId, recipientBudget, sharedBudget } from '../signing/hashed-ids.ts';
import { WEBHOOK_RULES } from './classification.ts';

interface WebhookSenderOptions extends TargetPosterOptions {
  readonly credentials: IntegrationCredentials;
}

/**
 * Posts webhooks by the Standard Webhooks specification. `webhook-id` is the log_id (see providerSafeId), the same for
 * every retry. `webhook-timestamp` is the time of the attempt in seconds. Each secret of the integration signs. A
 * notification without integration is unsigned.
 */
export function createWebhookSender({ credentials, ...http }: WebhookSenderOptions): Sender {
  const poster = createTargetPoster(http);
  const signer = createWebhookSigner();
  return {
    async send(delivery, signal) {
      const loaded = await credentials.load(webhookCredential, delivery);
      if (!loaded.ok) return loaded;
      const target = loaded.credential?.url ?? delivery.content.recipient;
      if (!looksLikeUrl(target)) return NO_TARGET;
      const { secrets = [], headers: own = {}, ports } = loaded.credential ?? {};
      const { at, traceparent } = delivery;
      const body = webhookPayload(delivery);
      const id = providerSafeId(delivery.log_id);
      const headers = {
        ...own,
        'content-type': 'application/json',
        'user-agent': 'notification-retry/1 (Standard-Webhooks)',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        ...(traceparent && { traceparent }),
        ...(secrets.length > 0 && { 'webhook-signature': signer.sign(secrets, id, at, body) }),
      };
      const context = { who: 'the endpoint', rules: WEBHOOK_RULES, secrets: Object.values(own) };
      return postTo({ poster, delivery, target, message: { headers, body, ports }, signal, ...context });
    },
    refreshCredential: credentials.refresh,
  };
}

const NO_TARGET = refusedByUs('no_target', 'the recipient is no URL');

/** Standard Webhooks: `whsec_` and the base64 of 24 to 64 random bytes. */
const secret = v.pipe(
  v.string(),
  v.check(isWebhookSecret, 'must be "whsec_" followed by the base64 of 24 to 64 bytes'),
);

/** What the request sets itself, or what would change where it ends. */
const OWN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*|user-agent|webhook-.*|traceparent|tracestate)$/i;
/** Servers take about 8 KB of headers. */
const MAX_HEADERS = 4_096;

/** Credentials beside the signature, such as Authorization. A fault names no header: what is wrong may be a secret. */
const headers = v.pipe(
  v.record(v.string(), v.string()),
  v.check(
    (all) => Object.keys(all).every((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)),
    'has a name that is none of a header',
  ),
  v.check(
    (all) => Object.values(all).every((value) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)),
    'has a value that is not visible ASCII',
  ),
  v.check(
    (all) => !Object.keys(all).some((name) => OWN_HEADERS.test(name)),
    'has a header that the request itself sets',
  ),
  v.check(
    (all) => new Set(Object.keys(all).map((name) => name.toLowerCase())).size === Object.keys(all).length,
    'has a header twice',
  ),
  v.check((all) => JSON.stringify(all).length <= MAX_HEADERS, `must have at most ${MAX_HEADERS} characters`),
);

/**
 * `url` replaces the recipient of the notification. `ports` are allowed beside 443. Each of `secrets` signs, so that a receiver can change from one
 * secret to the next without losing a message. Unknown fields are refused, because with a misspelt `secrets` messages
 * would be unsigned.
 */
export const webhookCredential = v.pipe(
  v.strictObject({
    tenant_id: v.optional(v.string()),
    url: v.optional(v.string()),
    ports: targetPorts,
    secrets: v.optional(v.array(secret), []),
    headers: v.optional(headers),
    /** Messages a second that the receiver takes; no limit unless given. */
    rate_per_second: v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(10_000))),
  }),
  // Whoever addresses a notification would learn them otherwise.
  v.check(
    ({ headers: own, url }) => own === undefined || url !== undefined,
    'has headers, which need a url beside them',
  ),
);

function isWebhookSecret(text: string): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return false;
  const bytes = Buffer.from(encoded, 'base64').length;
  return bytes >= 24 && bytes <= 64;
}

/** What limits and breakers of webhooks know of a row's target, by the credential of its integration. Neither call rejects. */
export function webhookTargets(credentials: IntegrationCredentials) {
  async function credentialOf(row: NotificationRow) {
    if (!row.integration_config_id) return undefined;
    const loaded = await credentials.load(webhookCredential, { tenant_id: row.tenant_id, ...chosenIntegration(row) });
    return loaded.ok ? loaded.credential : undefined;
  }
  const addressedBy = (credential: { readonly url?: string | undefined } | undefined) =>
    credential?.url === undefined ? 'recipient' : 'integration';
  return {
    addressedBy: async (row: NotificationRow) => addressedBy(await credentialOf(row)),
    /** Limited by `rate_per_second` of the credential: its `url`, or each recipient. Others are not limited. */
    async receiver(row: NotificationRow): Promise<PacedReceiver | undefined> {
      const credential = await credentialOf(row);
      const per_second = credential?.rate_per_second;
      if (per_second === undefined) return undefined;
      const budget = addressedBy(credential) === 'integration' ? sharedBudget(row) : recipientBudget(row);
      return budget && { ...budget, per_second };
    },
  };
}

/**
 * The body of the POST. A message body that is a JSON object or array is posted unchanged, byte for byte: its
 * producer has decided what the receiver gets. Any other body is put into the envelope that the Standard Webhooks
 * specification recommends:
 *
 * `{"type":"notification","timestamp":…,"data":{"log_id","tenant_id","subject","message","format"}}`
 *
 * `timestamp` is the time of the attempt (ISO-8601 UTC). `subject` is null when there is none. `format` is PLAIN,
 * HTML or MARKDOWN. Later versions may add members to `data`; they never remove or rename one.
 */
function webhookPayload({ log_id, tenant_id, content, at }: Delivery): string {
  if (isJsonDocument(content.body)) return content.body;
  return JSON.stringify({
    type: 'notification',
    timestamp: at.toISOString(),
    data: { log_id, tenant_id, subject: content.subject ?? null, message: content.body, format: content.format },
  });
}

function isJsonDocument(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const MAX_REMEMBERED = 500;
const PREFIX = 'whsec_';

/** Signs messages by the Standard Webhooks specification. */
export interface WebhookSigner {
  /**
   * The value of `webhook-signature`: `v1,<base64>` for every secret, separated by spaces.
   * @param secrets as webhookCredential has checked them
   * @param at the time of the attempt, which is signed together with id and body
   */
  sign(secrets: readonly string[], id: string, at: Date, body: string): string;
}

/** The specification's library computes in JavaScript (docs/decisions/measured/cold-start-and-bundles.md#0127). */
export function createWebhookSigner(): WebhookSigner {
  const keys = new Map<string, KeyObject>();

  function keyOf(secret: string): KeyObject {
    const known = keys.get(secret);
    if (known !== undefined) return known;
    const key = createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64'));
    if (keys.size >= MAX_REMEMBERED) keys.clear();
    keys.set(secret, key);
    return key;
  }

  return {
    sign(secrets, id, at, body) {
      const signed = `${id}.${Math.floor(at.getTime() / 1000)}.${body}`;
      return secrets
        .map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`)
        .join(' ');
    },
  };
}
