import { providerSafeId } from '../signing/hashed-ids.ts';

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
