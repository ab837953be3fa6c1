import { createHash } from 'node:crypto';

const MAX_LENGTH = 256;

/**
 * An id in the characters that SES message tags and `webhook-id` take: `[A-Za-z0-9_-]`, at most 256.
 * An id of ours normally passes unchanged. Where it does not, the offending characters become `_` and eight hex
 * digits of its SHA-256 are appended, so that it stays constant over retries and two ids never become one.
 */
export function providerSafeId(id: string): string {
  if (/^[\w-]{1,256}$/.test(id)) return id;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return `${id.replace(/[^\w-]/g, '_').slice(0, MAX_LENGTH - 9)}_${digest}`;
}
