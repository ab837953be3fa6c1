import { CompactEncrypt, type CryptoKey, compactDecrypt, decodeProtectedHeader, errors } from 'jose';

/** Only this module imports the library of JWE. It is itself imported dynamically, on first use. */

const ALGORITHMS = { alg: 'dir', enc: 'A256GCM' } as const;
/** Whoever stores a text cannot choose another algorithm. */
const ONLY = { keyManagementAlgorithms: [ALGORITHMS.alg], contentEncryptionAlgorithms: [ALGORITHMS.enc] };
const encoder = new TextEncoder();
const decoder = new TextDecoder();

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

/** The text; undefined when the JWE was altered, has another key, or asks for another algorithm. */
export async function decrypt(jwe: string, key: CryptoKey): Promise<string | undefined> {
  try {
    return decoder.decode((await compactDecrypt(jwe, key, ONLY)).plaintext);
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
