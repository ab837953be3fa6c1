import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyContext, KeyWrap } from './data-keys.ts';

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
function copyOf(buffer: Buffer): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(buffer);
}
