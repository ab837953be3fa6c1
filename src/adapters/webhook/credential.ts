import * as v from 'valibot';

/** Standard Webhooks: `whsec_` and the base64 of 24 to 64 random bytes. */
const secret = v.pipe(
  v.string(),
  v.check(isWebhookSecret, 'must be "whsec_" followed by the base64 of 24 to 64 bytes'),
);

/**
 * `url` replaces the recipient of the notification. Each of `secrets` signs, so that a receiver can change from one
 * secret to the next without losing a message. Unknown fields are refused, because with a misspelt `secrets` messages
 * would be unsigned.
 */
export const webhookCredential = v.strictObject({
  tenant_id: v.optional(v.string()),
  url: v.optional(v.string()),
  secrets: v.optional(v.array(secret), []),
  /** Messages a second that the receiver takes; no limit unless given. */
  rate_per_second: v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(10_000))),
});

function isWebhookSecret(text: string): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return false;
  const bytes = Buffer.from(encoded, 'base64').length;
  return bytes >= 24 && bytes <= 64;
}
