import {
  AlgorithmSuiteIdentifier,
  buildClient,
  CommitmentPolicy,
  type EncryptionContext,
  getLocalCryptographicMaterialsCache,
  KmsKeyringNode,
  NodeCachingMaterialsManager,
  RawAesKeyringNode,
  RawAesWrappingSuiteIdentifier,
} from '@aws-crypto/client-node';

/** Data keys are kept for this long, or for this many messages, whichever ends first. */
const MAX_AGE_MS = 5 * 60_000;
const MAX_MESSAGES = 1_000;
const CACHE_ENTRIES = 1_000;

/** Both ends are ours, so a signature over the message would add cost and no trust. */
const SUITE = AlgorithmSuiteIdentifier.ALG_AES256_GCM_IV12_TAG16_HKDF_SHA512_COMMIT_KEY;

export type EncryptionSdkOptions =
  | { readonly kind: 'kms'; readonly keyArn: string }
  | { readonly kind: 'raw'; readonly key: Uint8Array };

export interface RecipientEncryption {
  seal(context: Readonly<Record<string, string>>, plaintext: Buffer): Promise<Uint8Array>;
  open(ciphertext: Uint8Array): Promise<{ readonly plaintext: Buffer; readonly context: Readonly<EncryptionContext> }>;
}

/** This module is the only one to import the AWS Encryption SDK, and is itself only ever imported on first use. */
export function createRecipientEncryption(options: EncryptionSdkOptions): RecipientEncryption {
  const { encrypt, decrypt } = buildClient({
    commitmentPolicy: CommitmentPolicy.REQUIRE_ENCRYPT_REQUIRE_DECRYPT,
    maxEncryptedDataKeys: 1,
  });
  const materials = new NodeCachingMaterialsManager({
    backingMaterials: keyringOf(options),
    cache: getLocalCryptographicMaterialsCache(CACHE_ENTRIES),
    maxAge: MAX_AGE_MS,
    maxMessagesEncrypted: MAX_MESSAGES,
  });
  return {
    async seal(encryptionContext, plaintext) {
      // Without the length the SDK cannot count the bytes under a key, and would not cache it.
      const settings = { suiteId: SUITE, encryptionContext, plaintextLength: plaintext.length };
      return (await encrypt(materials, plaintext, settings)).result;
    },
    async open(ciphertext) {
      const { plaintext, messageHeader } = await decrypt(materials, Buffer.from(ciphertext));
      return { plaintext, context: messageHeader.encryptionContext };
    },
  };
}

function keyringOf(options: EncryptionSdkOptions): KmsKeyringNode | RawAesKeyringNode {
  if (options.kind === 'kms') return new KmsKeyringNode({ generatorKeyId: options.keyArn });
  return new RawAesKeyringNode({
    keyName: 'recipient',
    keyNamespace: 'notification-retry',
    // The keyring needs memory that is not shared with other buffers.
    unencryptedMasterKey: Uint8Array.from(options.key),
    wrappingSuite: RawAesWrappingSuiteIdentifier.AES256_GCM_IV12_TAG16_NO_PADDING,
  });
}
