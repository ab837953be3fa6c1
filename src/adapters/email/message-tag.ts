import { providerSafeId } from '../http/provider-safe-id.ts';

/** SES's limits for a message tag's value. */
const FITS = /^[\w-]{1,256}$/;
const ENCODED = 'b64_';

/**
 * An id as the value of an SES message tag, from which fromTag reads it again: `[A-Za-z0-9_-]`, at most 256 characters. Ids
 * that are none such are encoded; one too long for that is shortened, and its events find nothing.
 */
export function toTag(id: string): string {
  if (FITS.test(id) && !id.startsWith(ENCODED)) return id;
  const encoded = ENCODED + Buffer.from(id).toString('base64url');
  return FITS.test(encoded) ? encoded : providerSafeId(id);
}

export function fromTag(value: string): string {
  return value.startsWith(ENCODED) ? Buffer.from(value.slice(ENCODED.length), 'base64url').toString() : value;
}
