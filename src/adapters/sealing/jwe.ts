import { createDecipheriv, type KeyObject } from 'node:crypto';
import { CompactEncrypt, type CryptoKey, decodeProtectedHeader } from 'jose';

/** Only this module imports the library of JWE. It is itself imported dynamically, on first use. */

const ALGORITHMS = { alg: 'dir', enc: 'A256GCM' } as const;
const encoder = new TextEncoder();

/** A JWE in compact form (RFC 7516), encrypted by the key itself, with a random nonce of 96 bits. */
export function encrypt(header: Readonly<Record<string, string>>, text: string, key: CryptoKey): Promise<string> {
  return new CompactEncrypt(encoder.encode(text)).setProtectedHeader({ ...header, ...ALGORITHMS }).encrypt(key);
}

/** The protected header, not authenticated yet; undefined when the text is no JWE. */
export function headerOf(jwe: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return { ...decodeProtectedHeader(jwe) };
  } catch {
    return undefined;
  }
}

/** `dir` has no encrypted key; A256GCM has a nonce of 96 bits and a tag of 128. */
const COMPACT = /^([\w-]+)\.\.([\w-]{16})\.([\w-]*)\.([\w-]{22})$/;

/**
 * The text; undefined when the JWE was altered, has another key, or asks for another algorithm. The library would do it
 * by WebCrypto, whose jobs take five times the CPU for a text of 100 bytes (docs/decisions/0120).
 */
export function decrypt(jwe: string, key: KeyObject): string | undefined {
  const [, header, nonce, sealed, tag] = COMPACT.exec(jwe) ?? [];
  if (header === undefined || nonce === undefined || sealed === undefined || tag === undefined) return undefined;
  if (!isOurs(headerOf(jwe))) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: 16 });
  decipher.setAAD(Buffer.from(header)).setAuthTag(Buffer.from(tag, 'base64url'));
  const text = decipher.update(sealed, 'base64url', 'utf8');
  try {
    return text + decipher.final('utf8');
  } catch {
    return undefined;
  }
}

/** Whoever stores a text cannot choose another algorithm, compress it, or demand what nobody here knows. */
function isOurs(header: Readonly<Record<string, unknown>> = {}): boolean {
  const { alg, enc, zip, crit } = header;
  return alg === ALGORITHMS.alg && enc === ALGORITHMS.enc && zip === undefined && crit === undefined;
}
