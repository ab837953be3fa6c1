import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SEALED } from '../../core/model/notification.ts';
import { type Item, toItem } from '../dynamodb/table/item.ts';
import { getItem } from '../dynamodb/table/reads.ts';
import { putGuarded } from '../dynamodb/table/writes.ts';

export type SealPurpose = (typeof SEALED)[keyof typeof SEALED];

export interface KeyOwner {
  readonly tenant_id: string;
  readonly purpose: SealPurpose;
}

/** Names a data key: what KMS authenticates with it, and writes into CloudTrail. */
export interface KeyContext extends KeyOwner {
  /** `<purpose>#<month>`, such as `recipient#2026-11`; unique within the tenant. */
  readonly key_id: string;
}

/** The table DataKeys: data keys in the form that only KMS can read. */
export interface DataKeyStore {
  find(tenant_id: string, key_id: string): Promise<Uint8Array | undefined>;
  /** Stores a wrapped key. @returns undefined when it was stored; otherwise the key that the id had before */
  add(key: KeyContext, wrapped: Uint8Array, at: Date): Promise<Uint8Array | undefined>;
}

/** KMS, or a local key in its place. */
export interface KeyWrap {
  /** Makes a data key of 256 bits. */
  make(context: KeyContext): Promise<{ readonly key: Uint8Array<ArrayBuffer>; readonly wrapped: Uint8Array }>;
  /** @throws when the key was wrapped in another context */
  unwrap(context: KeyContext, wrapped: Uint8Array): Promise<Uint8Array<ArrayBuffer>>;
}

/** DataKeyStore on DataKeys. Items are never changed. */
export function createDataKeyStore(client: DynamoDBClient, TableName: string): DataKeyStore {
  async function find(tenant_id: string, key_id: string): Promise<Uint8Array | undefined> {
    // Consistent, because a message can be faster than the copies of the key that its recipient was sealed with.
    return wrappedKey(await getItem(client, TableName, toItem({ tenant_id, key_id })));
  }

  return {
    find,
    async add({ tenant_id, key_id }, wrapped, at) {
      const Item = { ...toItem({ tenant_id, key_id, created_at: at.toISOString() }), wrapped_key: { B: wrapped } };
      const { applied, item } = await putGuarded(client, TableName, Item, [[['key_id', '=', undefined]]]);
      if (applied) return undefined;
      // Not every emulator returns the item of a failed condition; AWS does.
      const first = wrappedKey(item) ?? (await find(tenant_id, key_id));
      if (first === undefined) throw new Error(`The data key ${key_id} was deleted a moment ago.`);
      return first;
    },
  };
}

const wrappedKey = (item: Item | undefined): Uint8Array | undefined => item?.['wrapped_key']?.B;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Wraps data keys with AES-256-GCM under a key from a file, where there is no KMS. As with KMS, the context is
 * authenticated.
 * @param masterKey of 32 bytes; read when first needed
 */
export function createLocalKeyWrap(masterKey: () => Promise<Uint8Array>): KeyWrap {
  return {
    async make(context) {
      const key = copyOf(randomBytes(32));
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', await masterKey(), nonce).setAAD(authenticated(context));
      return { key, wrapped: Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]) };
    },
    async unwrap(context, wrapped) {
      const nonce = wrapped.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', await masterKey(), nonce, { authTagLength: TAG_BYTES })
        .setAAD(authenticated(context))
        .setAuthTag(wrapped.subarray(-TAG_BYTES));
      return copyOf(Buffer.concat([decipher.update(wrapped.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]));
    },
  };
}

function authenticated({ tenant_id, purpose, key_id }: KeyContext): Uint8Array {
  return Buffer.from(JSON.stringify([tenant_id, purpose, key_id]));
}

/** Small buffers share their memory with others, which must not be overwritten with the key. */
const copyOf = (buffer: Buffer): Uint8Array<ArrayBuffer> => Uint8Array.from(buffer);
