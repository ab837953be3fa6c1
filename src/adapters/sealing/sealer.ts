import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { ExplainedError } from '../../core/model/problem.ts';
import { jsonObject } from '../../core/model/text.ts';
import type { Clock } from '../../core/model/time.ts';
import type { DataKeyStore, KeyContext, KeyOwner, KeyWrap, SealPurpose } from './data-keys.ts';

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

export interface DataKeys {
  /** The key of the current month (UTC). The first caller of the month makes it. */
  current(owner: KeyOwner): Promise<{ readonly key_id: string; readonly key: KeyObject }>;
  /** Undefined when there is no such key. */
  find(owner: KeyOwner, key_id: string): Promise<KeyObject | undefined>;
}

export interface DataKeysDeps {
  readonly store: DataKeyStore;
  readonly wrap: KeyWrap;
  readonly clock?: Clock;
}

/** KMS is called at most once per data key and hour, also when a whole batch needs the key at the same moment. */
export function createDataKeys({ store, wrap, clock = () => new Date() }: DataKeysDeps): DataKeys {
  const cache = createKeyCache(clock);

  async function unwrap(context: KeyContext, wrapped: Uint8Array): Promise<KeyObject> {
    return imported(await wrap.unwrap(context, wrapped));
  }

  async function stored(context: KeyContext): Promise<KeyObject | undefined> {
    const wrapped = await store.find(context.tenant_id, context.key_id);
    return wrapped && unwrap(context, wrapped);
  }

  async function storedOrMade(context: KeyContext): Promise<KeyObject> {
    const found = await stored(context);
    if (found !== undefined) return found;
    const { key, wrapped } = await wrap.make(context);
    const first = await store.add(context, wrapped, clock());
    // Another instance was first, so its key counts. A put that the SDK repeated meets its own key.
    if (first !== undefined && !Buffer.from(first).equals(wrapped)) return unwrap(context, first);
    return imported(key);
  }

  return {
    async current({ tenant_id, purpose }) {
      const key_id = `${purpose}#${clock().toISOString().slice(0, 7)}`;
      const context = { tenant_id, purpose, key_id };
      return { key_id, key: await cache.getOrMake(nameOf(context), () => storedOrMade(context)) };
    },
    find({ tenant_id, purpose }, key_id) {
      const context = { tenant_id, purpose, key_id };
      return cache.get(nameOf(context), () => stored(context));
    },
  };
}

const nameOf = ({ tenant_id, key_id }: KeyContext): string => JSON.stringify([tenant_id, key_id]);

/** The bytes are overwritten, so that only node:crypto has the key. */
function imported(bytes: Uint8Array): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/** How long a key is used after KMS was asked for it: a right that was taken away ends within this time. */
const TTL_MS = 3_600_000;
/** About 2 MB. */
const MAX_KEYS = 10_000;

interface KeyCache {
  /** The key of a name, loaded when it is not known; undefined when `load` finds none. */
  get(name: string, load: () => Promise<KeyObject | undefined>): Promise<KeyObject | undefined>;
  /** The same for a `make` that always has a key. */
  getOrMake(name: string, make: () => Promise<KeyObject>): Promise<KeyObject>;
}

/** Simultaneous callers share one load. Only a key is remembered: neither a failure nor a missing key is. */
function createKeyCache(clock: Clock): KeyCache {
  /** In the order of their expiry, as all live equally long. */
  const keys = new Map<string, { readonly key: KeyObject; readonly until: number }>();
  const underWay = new Map<string, Promise<KeyObject | undefined>>();

  function known(name: string): KeyObject | undefined {
    const entry = keys.get(name);
    return entry !== undefined && clock().getTime() < entry.until ? entry.key : undefined;
  }

  function remember(name: string, key: KeyObject): void {
    const now = clock().getTime();
    keys.delete(name);
    for (const [oldest, { until }] of keys) {
      if (now < until && keys.size < MAX_KEYS) break;
      keys.delete(oldest);
    }
    keys.set(name, { key, until: now + TTL_MS });
  }

  function begin<T extends KeyObject | undefined>(name: string, load: () => Promise<T>): Promise<T> {
    const loading = load()
      .then((key) => {
        if (key !== undefined) remember(name, key);
        return key;
      })
      .finally(() => underWay.delete(name));
    underWay.set(name, loading);
    return loading;
  }

  return {
    async get(name, load) {
      return known(name) ?? underWay.get(name) ?? begin(name, load);
    },
    async getOrMake(name, make) {
      let running = underWay.get(name);
      // Somebody's search may end without a key; then the first of those who waited for it makes one.
      while (known(name) === undefined && running !== undefined) {
        const found = await running;
        if (found !== undefined) return found;
        running = underWay.get(name);
      }
      return known(name) ?? begin(name, make);
    },
  };
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
