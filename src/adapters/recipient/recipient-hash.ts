import { createHmac } from 'node:crypto';

/**
 * A keyed hash by which a recipient's notifications are found without decrypting any: 22 base64url characters (132 bits) of
 * HMAC-SHA256. It covers the tenant, so that equal recipients of two tenants cannot be linked, and needs the key, so
 * that it cannot be reversed by trying addresses. What counts as one recipient: surrounding space never matters,
 * and case does not for e-mail addresses; channel names, ids and URLs are taken as they are.
 */
export function recipientHash(key: string, tenant_id: string, recipient: string): string {
  const mac = createHmac('sha256', key).update(JSON.stringify([tenant_id, normalise(recipient)]));
  return mac.digest('base64url').slice(0, 22);
}

function normalise(recipient: string): string {
  const trimmed = recipient.trim();
  return /^[^\s@/]+@[^\s@/]+$/.test(trimmed) ? trimmed.toLowerCase() : trimmed;
}
