import { getLocalCryptographicMaterialsCache } from '@aws-crypto/cache-material';
import { NodeCachingMaterialsManager } from '@aws-crypto/caching-materials-manager-node';
import { buildDecrypt } from '@aws-crypto/decrypt-node';
import { buildEncrypt } from '@aws-crypto/encrypt-node';
import { KmsKeyringNode } from '@aws-crypto/kms-keyring-node';
import { AlgorithmSuiteIdentifier, CommitmentPolicy, type KeyringNode } from '@aws-crypto/material-management-node';
import { RawAesKeyringNode, RawAesWrappingSuiteIdentifier } from '@aws-crypto/raw-aes-keyring-node';

/** A data key is used for so long, or for so many messages, whichever limit is reached first. */
const MAX_AGE_MS = 5 * 60_000;
const MAX_MESSAGES = 1_000;
const CACHE_ENTRIES = 1_000;

/** Both writer and reader are our own code, so a signature over the message would add cost but no trust. */
const SUITE = AlgorithmSuiteIdentifier.ALG_AES256_GCM_IV12_TAG16_HKDF_SHA512_COMMIT_KEY;

export type EncryptionSdkOptions =
  | { readonly kind: 'kms'; readonly keyArn: string }
  | { readonly kind: 'raw'; readonly key: Uint8Array };

export interface RecipientEncryption {
  seal(context: Readonly<Record<string, string>>, plaintext: Buffer): Promise<Uint8Array>;
  open(
    ciphertext: Uint8Array,
  ): Promise<{ readonly plaintext: Buffer; readonly context: Readonly<Record<string, string>> }>;
}

/** Only this module imports the AWS Encryption SDK. It is itself imported dynamically, on first use. */
export function createRecipientEncryption(options: EncryptionSdkOptions): RecipientEncryption {
  const policy = { commitmentPolicy: CommitmentPolicy.REQUIRE_ENCRYPT_REQUIRE_DECRYPT, maxEncryptedDataKeys: 1 };
  const { encrypt } = buildEncrypt(policy);
  const { decrypt } = buildDecrypt(policy);
  const materials = new NodeCachingMaterialsManager({
    backingMaterials: keyringOf(options),
    cache: getLocalCryptographicMaterialsCache(CACHE_ENTRIES),
    maxAge: MAX_AGE_MS,
    maxMessagesEncrypted: MAX_MESSAGES,
  });
  return {
    async seal(encryptionContext, plaintext) {
      // Without the length the SDK cannot count the bytes per key, and would not cache the key.
      const settings = { suiteId: SUITE, encryptionContext, plaintextLength: plaintext.length };
      return (await encrypt(materials, plaintext, settings)).result;
    },
    async open(ciphertext) {
      const { plaintext, messageHeader } = await decrypt(materials, Buffer.from(ciphertext));
      return { plaintext, context: messageHeader.encryptionContext };
    },
  };
}

function keyringOf(options: EncryptionSdkOptions): KeyringNode {
  if (options.kind === 'kms') return new KmsKeyringNode({ generatorKeyId: options.keyArn });
  return new RawAesKeyringNode({
    keyName: 'recipient',
    keyNamespace: 'notification-retry',
    // The keyring requires memory that no other buffer shares.
    unencryptedMasterKey: Uint8Array.from(options.key),
    wrappingSuite: RawAesWrappingSuiteIdentifier.AES256_GCM_IV12_TAG16_NO_PADDING,
  });
}
