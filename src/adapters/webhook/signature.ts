import { Webhook } from 'standardwebhooks';

const MAX_REMEMBERED = 500;

/** Signs messages by the Standard Webhooks specification. */
export interface WebhookSigner {
  /**
   * The value of `webhook-signature`: `v1,<base64>` for every secret, separated by spaces.
   * @param at the time of the attempt, which is signed together with id and body
   */
  sign(secrets: readonly string[], id: string, at: Date, body: string): string;
}

export function createWebhookSigner(): WebhookSigner {
  const keys = new Map<string, Webhook>();

  function keyOf(secret: string): Webhook {
    const known = keys.get(secret);
    if (known !== undefined) return known;
    const key = new Webhook(secret);
    if (keys.size >= MAX_REMEMBERED) keys.clear();
    keys.set(secret, key);
    return key;
  }

  return {
    sign: (secrets, id, at, body) => secrets.map((secret) => keyOf(secret).sign(id, at, body)).join(' '),
  };
}
