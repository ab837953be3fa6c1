import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** A key of 32 bytes for AES-256-GCM, and the short id by which a file names its key. */
export interface SpoolKey {
  readonly id: string;
  readonly bytes: Buffer;
}

const PURPOSE = 'notification spool, version 1';

/** @param text 32 bytes as 64 hexadecimal digits or base64 @throws TypeError that does not show the text */
export function spoolKey(text: string): SpoolKey {
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64');
  if (bytes.length !== 32) {
    throw new TypeError('A spool key must be 32 bytes, in base64 or hexadecimal: openssl rand -base64 32');
  }
  return { id: createHash('sha256').update(PURPOSE).update(bytes).digest('hex').slice(0, 8), bytes };
}

/**
 * Encrypts a text.
 * @param bound a text that is not encrypted, and without which the result does not decrypt
 * @returns nonce, tag and ciphertext in base64
 */
export function seal(text: string, { bytes }: SpoolKey, bound = ''): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', bytes, nonce).setAAD(associated(bound));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
}

/** @throws Error if either text was changed, or the text was sealed with another key. */
export function unseal(sealed: string, { bytes }: SpoolKey, bound = ''): string {
  const all = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', bytes, all.subarray(0, 12), { authTagLength: 16 });
  decipher.setAAD(associated(bound)).setAuthTag(all.subarray(12, 28));
  return Buffer.concat([decipher.update(all.subarray(28)), decipher.final()]).toString('utf8');
}

const associated = (bound: string): Buffer => Buffer.from(`${PURPOSE}${bound}`);
