import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

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

/**
 * By node:crypto, because the specification's own library computes in JavaScript
 * (docs/decisions/measured/cold-start-and-bundles.md#0127).
 */
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
