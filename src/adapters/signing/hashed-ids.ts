import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { NotificationRow } from '../../core/model/notification.ts';

/**
 * A keyed hash that finds the notifications of a recipient without decrypting any: 22 base64url characters (132 bits)
 * of HMAC-SHA256. The hash covers the tenant, so that equal recipients of two tenants cannot be linked. It needs the
 * key, so that nobody can find a recipient by trying addresses. Surrounding space is ignored, and so is case in
 * e-mail addresses. Channel names, ids and URLs are hashed unchanged.
 */
export function recipientHash(key: string, tenant_id: string, recipient: string): string {
  // As a KeyObject, which Node makes anew for each hash otherwise.
  if (last?.key !== key) last = { key, object: createSecretKey(key, 'utf8') };
  const mac = createHmac('sha256', last.object).update(JSON.stringify([tenant_id, normalise(recipient)]));
  return mac.digest('base64url').slice(0, 22);
}

let last: { readonly key: string; readonly object: KeyObject } | undefined;

function normalise(recipient: string): string {
  const trimmed = recipient.trim();
  return /^[^\s@/]+@[^\s@/]+$/.test(trimmed) ? trimmed.toLowerCase() : trimmed;
}

/** The budget of an integration, which all tenants share that may use it. */
export function integrationKey({ integration_config_id: id }: NotificationRow): string | undefined {
  return id ? shortName(`integration ${id}`) : undefined;
}

/** The budget of a tenant's recipient; undefined if it is not known. No id that a row names can be taken for it. */
export function recipientKey({ tenant_id, recipient_hash }: NotificationRow): string | undefined {
  return recipient_hash ? shortName(`recipient ${JSON.stringify([tenant_id, recipient_hash])}`) : undefined;
}

const shortName = (id: string): string => createHash('sha256').update(id).digest('base64url').slice(0, 11);

const MAX_LENGTH = 256;

/**
 * An id in the characters that SES message tags and `webhook-id` accept: `[A-Za-z0-9_-]`, at most 256. Most ids pass
 * unchanged. In others the forbidden characters become `_`, and eight hex digits of the SHA-256 are appended, so that
 * the result is the same for every retry and two ids stay different.
 */
export function providerSafeId(id: string): string {
  if (/^[\w-]{1,256}$/.test(id)) return id;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return `${id.replace(/[^\w-]/g, '_').slice(0, MAX_LENGTH - 9)}_${digest}`;
}
