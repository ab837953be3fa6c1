import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { ExplainedError } from '../../core/model/problem.ts';
import { jsonObject } from '../../core/model/text.ts';
import type { DataKeys, SealPurpose } from './data-keys.ts';

/** What a sealed text belongs to. It opens for this owner only. */
export interface SealOwner {
  readonly tenant_id: string;
  readonly purpose: SealPurpose;
  /** Identifies the text among those of its tenant and purpose: the log_id of a recipient. */
  readonly id: string;
}

/** Encrypts personal data, bound to its owner (his-notification-log-table.md: 暗号化必須). */
export interface Sealer {
  /** @returns a JWE in compact form: ASCII, about 190 characters and 4/3 of the text's UTF-8 */
  seal(owner: SealOwner, text: string): Promise<string>;
  /** @throws SealRefusedError when it can never be opened for this owner; storage's or KMS's error otherwise */
  open(owner: SealOwner, sealed: string): Promise<string>;
}

/** The sealed text will never open for this owner. The message says where and why, and quotes nothing of the text. */
export class SealRefusedError extends ExplainedError {
  override readonly name = 'SealRefusedError';
  readonly reason: SealFault;

  constructor({ purpose, id }: SealOwner, reason: SealFault) {
    super(`The encrypted ${purpose} of ${id} ${FAULTS[reason]}.`);
    this.reason = reason;
  }
}

const FAULTS = {
  malformed: 'is no JWE of this system, which has the headers alg, enc, kid, tenant and id',
  other_owner: 'belongs to another tenant, purpose or id',
  unknown_key: 'was encrypted with a data key that does not exist any more',
  altered: 'was altered, or does not fit its data key',
} as const;
type SealFault = keyof typeof FAULTS;

/** `<purpose>#<month>`: no other id is looked up. */
const KEY_ID = /^([a-z]+)#\d{4}-\d{2}$/;

/**
 * Seals with the data key of the owner's tenant, purpose and month. The protected header names key and owner. It is
 * authenticated with the text, so neither can be exchanged.
 */
export function createSealer(keys: DataKeys): Sealer {
  return {
    async seal(owner, text) {
      const { key_id, key } = await keys.current(owner);
      return encrypt({ kid: key_id, tenant: owner.tenant_id, id: owner.id }, text, key);
    },
    async open(owner, sealed) {
      const header = headerOf(sealed);
      const key = await keys.find(owner, keyIdOf(owner, header));
      if (key === undefined) throw new SealRefusedError(owner, 'unknown_key');
      const text = decrypt(sealed, key, header);
      if (text === undefined) throw new SealRefusedError(owner, 'altered');
      return text;
    },
  };
}

/**
 * The id of the data key, if the header names the owner. The header is not authenticated yet: if somebody changed it
 * so that it names this owner, the text does not open.
 */
function keyIdOf(owner: SealOwner, { kid, tenant, id }: Readonly<Record<string, unknown>> = {}): string {
  const [key_id, purpose] = KEY_ID.exec(String(kid)) ?? [];
  if (key_id === undefined || typeof tenant !== 'string' || typeof id !== 'string') {
    throw new SealRefusedError(owner, 'malformed');
  }
  if (tenant !== owner.tenant_id || id !== owner.id || purpose !== owner.purpose) {
    throw new SealRefusedError(owner, 'other_owner');
  }
  return key_id;
}

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
const headerOf = (jwe: string) => jsonObject(Buffer.from(jwe.slice(0, jwe.indexOf('.')), 'base64url').toString());

/** Undefined when the JWE was altered, or has another key or algorithm. @param header if it is read already */
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
