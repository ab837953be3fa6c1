import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** What the API takes: 1–128 visible ASCII characters. */
const KEY = /^[!-~]{1,128}$/;

/**
 * The key of a content: the SHA-256 of its canonical JSON (RFC 8785), so that the same content has the same key in
 * every process, whatever the order of its members (retry-and-idempotency-design.md §2).
 */
export function keyOf(content: object): string {
  // The leading version lets the derivation change without an old key ever meaning a new content.
  return `c1-${createHash('sha256').update(canonical(content)).digest('base64url')}`;
}

/** @throws TypeError when it is not JSON: a cycle, NaN, half a surrogate pair. */
export function canonical(content: object): string {
  try {
    return canonicalize(content) ?? '';
  } catch (cause) {
    throw new TypeError(`The notification cannot be written as JSON: ${(cause as Error).message}.`, { cause });
  }
}

/** @throws TypeError when it is no key. */
export function checkedKey(key: string): string {
  if (!KEY.test(key)) {
    throw new TypeError('An idempotency key must be 1 to 128 visible ASCII characters, without spaces.');
  }
  return key;
}
