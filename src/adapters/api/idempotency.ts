import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { IntakeRequest } from '../../core/intake/notification-request.ts';

/**
 * Single requests and items of a batch share a scope: the same key stands for the same notification in both. Web pages
 * have one of their own, which all tokens of a tenant share: what a visitor chooses as a key takes none of the
 * producer's, and a page repeats a request with a renewed token, or with one of a rotated key.
 */
const SCOPES = { servers: 'POST /v1/notifications', pages: 'POST /v1/notifications of pages' } as const;
export type KeyScope = keyof typeof SCOPES;

/**
 * A key holds no space, so the key of a batch item that has none of its own never equals the key of another request.
 */
const KEY_SEPARATOR = ' ';

/** What identifies a request: its hash (no `traceparent`), and its key's log_ids, one per 72 hours. */
export function identify(
  tenant_id: string,
  idempotency_key: string,
  { traceparent: _, ...request }: { readonly traceparent?: unknown },
  scope: KeyScope = 'servers',
): Pick<IntakeRequest, 'request_hash' | 'logId'> {
  const parts = [tenant_id, SCOPES[scope], idempotency_key];
  return { request_hash: requestHash(request), logId: (generation) => idFrom([...parts, generation]) };
}

/** The key of a batch item that has none of its own. @param index place in the batch, from 0 */
export function batchItemKey(idempotency_key: string, index: number): string {
  return `${idempotency_key}${KEY_SEPARATOR}${index}`;
}

/** SHA-256 of the request in canonical form (RFC 8785): the order of keys and the white space make no difference. */
export const requestHash = (request: unknown): string => sha256(canonicalize(request) ?? '').toString('base64url');

/** The email_id of a tenant's key: an email is kept longer than anyone repeats a request. */
export function emailIdOf(tenant_id: string, idempotency_key: string): string {
  return idFrom([tenant_id, 'POST /v1/emails', idempotency_key]);
}

/** A UUID of version 8 (RFC 9562), made from a hash. */
function idFrom(parts: readonly (string | number)[]): string {
  const hash = sha256(JSON.stringify(parts)).subarray(0, 16);
  hash[6] = 0x80 | ((hash[6] ?? 0) & 0x0f);
  hash[8] = 0x80 | ((hash[8] ?? 0) & 0x3f);
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
