import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** A key that the API takes: 1–128 visible ASCII characters. */
const KEY = /^[!-~]{1,128}$/;

/**
 * The key of a content is the SHA-256 of its canonical JSON (RFC 8785). The same content has the same key in every
 * process, in any order of its members (retry-and-idempotency-design.md §2).
 */
export function keyOf(content: object): string {
  // The version at the start lets the derivation change: no old key can then stand for another content.
  return `c1-${createHash('sha256').update(canonical(content)).digest('base64url')}`;
}

/** @throws TypeError if the content is not JSON: a cycle, NaN, half a surrogate pair. */
export function canonical(content: object): string {
  try {
    return canonicalize(content) ?? '';
  } catch (cause) {
    throw new TypeError(`The notification cannot be written as JSON: ${(cause as Error).message}.`, { cause });
  }
}

/** @throws TypeError if the key is not valid. */
export function checkedKey(key: string): string {
  if (!KEY.test(key)) {
    throw new TypeError('An idempotency key must be 1 to 128 visible ASCII characters, without spaces.');
  }
  return key;
}
