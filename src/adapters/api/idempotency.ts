import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** Single requests and items of a batch share it: the same key means the same notification either way. */
const SCOPE = 'POST /v1/notifications';

/** SHA-256 of the request in canonical form (RFC 8785): equal whatever the order of its keys and its spacing. */
export function requestHash(request: unknown): string {
  return sha256(canonicalize(request) ?? '').toString('base64url');
}

/** The log_ids that a tenant's key stands for, one a generation of 72 hours: UUIDs of version 8 (RFC 9562) from a hash. */
export function logIdsOf(tenant_id: string, idempotency_key: string): (generation: number) => string {
  return (generation) => {
    const hash = sha256(JSON.stringify([tenant_id, SCOPE, idempotency_key, generation])).subarray(0, 16);
    hash[6] = 0x80 | ((hash[6] ?? 0) & 0x0f);
    hash[8] = 0x80 | ((hash[8] ?? 0) & 0x3f);
    return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
