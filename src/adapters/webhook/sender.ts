import type { Delivery, Refused, Sender, SendResult } from '../../core/delivery/sender.ts';
import { providerSafeId } from '../http/provider-safe-id.ts';
import { faultRefusal, refusalOf } from '../http/refusal.ts';
import { looksLikeUrl } from '../http/target-guard.ts';
import { createTargetPoster, type TargetPoster, type TargetPosterOptions } from '../http/target-poster.ts';
import type { IntegrationCredentials } from '../secrets/integration-credentials.ts';
import { WEBHOOK_RULES } from './classification.ts';
import { webhookCredential } from './credential.ts';
import { webhookPayload } from './payload.ts';
import { createWebhookSigner, type WebhookSigner } from './signature.ts';

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
      const { secrets = [], ports } = loaded.credential ?? {};
      return post({ poster, signer, delivery, target, secrets, ports, signal });
    },
    refreshCredential: credentials.refresh,
  };
}

const NO_TARGET: Refused = {
  ok: false,
  error_type: 'INVALID_RECIPIENT',
  message: 'the recipient is not a URL; expected https://host/path as recipient, or url in the integration credential',
};

interface Posting {
  readonly poster: TargetPoster;
  readonly signer: WebhookSigner;
  readonly delivery: Delivery;
  readonly target: string;
  readonly secrets: readonly string[];
  readonly ports: readonly number[] | undefined;
  readonly signal: AbortSignal;
}

async function post({ poster, signer, delivery, target, secrets, ports, signal }: Posting): Promise<SendResult> {
  const body = webhookPayload(delivery);
  const id = providerSafeId(delivery.log_id);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'notification-retry/1 (Standard-Webhooks)',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(delivery.at.getTime() / 1000)),
  };
  if (secrets.length > 0) headers['webhook-signature'] = signer.sign(secrets, id, delivery.at, body);
  try {
    const answer = await poster.post(target, { headers, body, ports }, signal);
    if (answer.status >= 200 && answer.status < 300) return { ok: true, response_code: String(answer.status) };
    return refusalOf(answer, { who: 'the endpoint', delivery, rules: WEBHOOK_RULES, secret: target });
  } catch (error) {
    return faultRefusal(error, WEBHOOK_RULES);
  }
}
