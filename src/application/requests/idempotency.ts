import canonicalize from 'canonicalize';
import { keyedHash } from '../../adapters/signing/hashed-ids.ts';
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

/**
 * What identifies requests: a request's hash (no `traceparent`), and its key's log_ids, one per 72 hours; an email's id.
 * A request has an address in it, and so may its key: all of them are keyed.
 * @param hashKey that of recipientHash
 */
export function createIdentities(hashKey: string) {
  const idOf = (parts: readonly (string | number)[]) => idFrom(keyedHash(hashKey, 'ids', JSON.stringify(parts)));
  /** Of the canonical form (RFC 8785): the order of keys and the white space make no difference. */
  const requestHash = (request: unknown): string =>
    keyedHash(hashKey, 'requests', canonicalize(request) ?? '').toString('base64url');
  return {
    requestHash,

    identify(
      tenant_id: string,
      idempotency_key: string,
      { traceparent: _, ...request }: { readonly traceparent?: unknown },
      scope: KeyScope = 'servers',
    ): Pick<IntakeRequest, 'request_hash' | 'logId'> {
      const parts = [tenant_id, SCOPES[scope], idempotency_key];
      return { request_hash: requestHash(request), logId: (generation) => idOf([...parts, generation]) };
    },

    /** The email_id of a tenant's key: an email is kept longer than anyone repeats a request. */
    emailIdOf: (tenant_id: string, idempotency_key: string) => idOf([tenant_id, 'POST /v1/emails', idempotency_key]),
  };
}

export type Identities = ReturnType<typeof createIdentities>;

/** The key of a batch item that has none of its own. @param index place in the batch, from 0 */
export function batchItemKey(idempotency_key: string, index: number): string {
  return `${idempotency_key}${KEY_SEPARATOR}${index}`;
}

/** A UUID of version 8 (RFC 9562), made from a hash. */
function idFrom(hash: Buffer): string {
  const id = hash.subarray(0, 16);
  id[6] = 0x80 | ((id[6] ?? 0) & 0x0f);
  id[8] = 0x80 | ((id[8] ?? 0) & 0x3f);
  return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
