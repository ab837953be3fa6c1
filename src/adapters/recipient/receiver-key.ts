import { createHash } from 'node:crypto';

/** A short name of a receiver for its budget; undefined for a receiver that is not known. */
export function receiverKey(id: string | undefined): string | undefined {
  return id ? createHash('sha256').update(id).digest('base64url').slice(0, 11) : undefined;
}
