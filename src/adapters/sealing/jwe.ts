import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

/**
 * JWE in compact form (RFC 7516), encrypted by the key itself (`dir`) with AES-256-GCM. By node:crypto and not by a
 * library, because Web Crypto's threads cost four times the CPU for texts this short
 * (docs/decisions/measured/cold-start-and-bundles.md#0127).
 */

const ALGORITHMS = { alg: 'dir', enc: 'A256GCM' } as const;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Protected header, no encrypted key, nonce, text, tag (RFC 7516 §7.1). */
const COMPACT = /^([\w-]+)\.\.([\w-]{16})\.([\w-]*)\.([\w-]{22})$/;

/** The nonce is random, of 96 bits. */
export function encrypt(header: Readonly<Record<string, string>>, text: string, key: KeyObject): string {
  const encoded = Buffer.from(JSON.stringify({ ...header, ...ALGORITHMS })).toString('base64url');
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(encoded));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]).toString('base64url');
  return `${encoded}..${nonce.toString('base64url')}.${sealed}.${cipher.getAuthTag().toString('base64url')}`;
}

/** The protected header, not authenticated yet; undefined when the text is no JWE. */
export function headerOf(jwe: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const header: unknown = JSON.parse(Buffer.from(jwe.slice(0, jwe.indexOf('.')), 'base64url').toString());
    return typeof header === 'object' && header !== null && !Array.isArray(header) ? { ...header } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The text; undefined when the JWE was altered, has another key, or asks for another algorithm.
 * @param header of this JWE, where the caller has read it already
 */
export function decrypt(jwe: string, key: KeyObject, header = headerOf(jwe)): string | undefined {
  const [, encoded = '', nonce = '', sealed = '', tag = ''] = COMPACT.exec(jwe) ?? [];
  if (!isOurs(header)) return undefined;
  try {
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'base64url'), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(encoded))
      .setAuthTag(Buffer.from(tag, 'base64url'));
    return Buffer.concat([decipher.update(sealed, 'base64url'), decipher.final()]).toString();
  } catch {
    return undefined;
  }
}

/** Whoever stores a text cannot choose another algorithm, compression or an extension (RFC 7516 §4.1.13). */
function isOurs(header: Readonly<Record<string, unknown>> = {}): boolean {
  const { alg, enc } = header;
  return alg === ALGORITHMS.alg && enc === ALGORITHMS.enc && !('zip' in header) && !('crit' in header);
}
