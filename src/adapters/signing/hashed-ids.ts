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

/**
 * HMAC-SHA256 of a text that may contain an address: without the key, nobody can find it by trying. Kept where a repeat
 * is to be recognised.
 * @param key that of recipientHash
 * @param use what is hashed; part of the derivation, so that no hash of one use is one of another
 */
export function keyedHash(key: string, use: string, text: string): Buffer {
  const derived = createHmac('sha256', key).update(use).digest();
  return createHmac('sha256', derived).update(text).digest();
}

function normalise(recipient: string): string {
  const trimmed = recipient.trim();
  return /^[^\s@/]+@[^\s@/]+$/.test(trimmed) ? trimmed.toLowerCase() : trimmed;
}

/** The budget of an integration, which all tenants share that may use it, and which of them asks. */
export function sharedBudget({ integration_config_id: id, tenant_id }: NotificationRow) {
  if (!id) return undefined;
  const tenant = createHash('sha256').update(tenant_id).digest('hex').slice(0, 8);
  return { key: shortName(`integration ${id}`), tenant };
}

/** The budget of a tenant's recipient; undefined if it is not known. No id that a row names can be taken for it. */
export function recipientBudget({ tenant_id, recipient_hash }: NotificationRow) {
  return recipient_hash ? { key: shortName(`recipient ${JSON.stringify([tenant_id, recipient_hash])}`) } : undefined;
}

/** 132 bits: nobody finds a second name for a budget. */
const shortName = (id: string): string => sha256(id).slice(0, 22);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** The characters and the length that a service takes for a name. */
interface NameForm {
  readonly forbidden: RegExp;
  readonly longest: number;
}

/** What a name ends with that distinctName has made: the whole SHA-256. */
const MADE = /_[\w-]{43}$/;

/**
 * An id in the form that a service takes. Most ids pass unchanged. In others the forbidden characters become `_`, and
 * their SHA-256 follows; so it does where an id looks like such a name. Hence no two ids have the same name, and an id has
 * the same at every retry.
 */
function distinctName(id: string, { forbidden, longest }: NameForm): string {
  const passes = id !== '' && id.length <= longest && !forbidden.test(id) && !MADE.test(id);
  return passes ? id : `${id.slice(0, longest - 44).replace(new RegExp(forbidden, 'g'), '_')}_${sha256(id)}`;
}

/** An id in the characters that SES message tags and `webhook-id` accept: `[A-Za-z0-9_-]`, at most 256. */
export const providerSafeId = (id: string): string => distinctName(id, { forbidden: /[^\w-]/, longest: 256 });

/** A tenant's fair group in SQS, which takes 128 ASCII letters, digits and punctuation marks. */
export const fairGroup = (tenant_id: string): string =>
  distinctName(tenant_id, { forbidden: /[^\x21-\x7e]/, longest: 128 });

/** The form that SES requires of the value of a message tag. */
const FITS = /^[\w-]{1,256}$/;
const ENCODED = 'b64_';

/**
 * The value of an SES message tag for an id: `[A-Za-z0-9_-]`, at most 256 characters. Other ids are encoded, and
 * fromTag decodes them. An id that is too long to be encoded is shortened, and its events find no attempt.
 */
export function toTag(id: string): string {
  if (FITS.test(id) && !id.startsWith(ENCODED)) return id;
  const encoded = ENCODED + Buffer.from(id).toString('base64url');
  return FITS.test(encoded) ? encoded : providerSafeId(id);
}

export function fromTag(value: string): string {
  return value.startsWith(ENCODED) ? Buffer.from(value.slice(ENCODED.length), 'base64url').toString() : value;
}
