import { DecryptCommand, GenerateDataKeyCommand, KMSClient, type KMSClientConfig } from '@aws-sdk/client-kms';
import type { KeyContext, KeyWrap } from '../sealing/data-keys.ts';

/** KMS for a function, whose client is made when the first key is needed. */
export function createKmsAccess(keyArn: string, config: KMSClientConfig): KeyWrap {
  return createKmsKeyWrap(new KMSClient(config), keyArn);
}

/**
 * Wraps data keys with a KMS key. The encryption context binds a wrapped key to its tenant, purpose and month: KMS
 * refuses it in the place of another, and policies can name the purpose.
 */
export function createKmsKeyWrap(client: KMSClient, KeyId: string): KeyWrap {
  return {
    async make(context) {
      const command = new GenerateDataKeyCommand({ KeyId, KeySpec: 'AES_256', EncryptionContext: contextOf(context) });
      const { Plaintext, CiphertextBlob } = await client.send(command);
      return { key: required(Plaintext, 'Plaintext'), wrapped: required(CiphertextBlob, 'CiphertextBlob') };
    },
    async unwrap(context, wrapped) {
      // With KeyId, KMS refuses what another key encrypted.
      const command = new DecryptCommand({ KeyId, CiphertextBlob: wrapped, EncryptionContext: contextOf(context) });
      return required((await client.send(command)).Plaintext, 'Plaintext');
    },
  };
}

function contextOf({ tenant_id, purpose, key_id }: KeyContext): Record<string, string> {
  return { tenant_id, purpose, key_id };
}

function required(bytes: Uint8Array | undefined, name: string): Uint8Array<ArrayBuffer> {
  if (bytes === undefined) throw new Error(`KMS answered without ${name}.`);
  return Uint8Array.from(bytes);
}
