import { createHash } from 'node:crypto';

const MAX_LENGTH = 256;

/**
 * An id in the characters that SES message tags and `webhook-id` accept: `[A-Za-z0-9_-]`, at most 256. Most ids pass
 * unchanged. In others the forbidden characters become `_`, and eight hex digits of the SHA-256 are appended, so that
 * the result is the same for every retry and two ids stay different.
 */
export function providerSafeId(id: string): string {
  if (/^[\w-]{1,256}$/.test(id)) return id;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return `${id.replace(/[^\w-]/g, '_').slice(0, MAX_LENGTH - 9)}_${digest}`;
}
