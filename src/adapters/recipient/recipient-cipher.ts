import type { EncryptionSdkOptions, RecipientEncryption } from './encryption-sdk.ts';

/** The row that a recipient belongs to. In another row its ciphertext is useless. */
interface RecipientOwner {
  readonly tenant_id: string;
  readonly log_id: string;
}

/** Encrypts recipients, bound to their tenant and row (his-notification-log-table.md: 暗号化必須). */
export interface RecipientCipher {
  encrypt(owner: RecipientOwner, recipient: string): Promise<Uint8Array>;
  /**
   * @throws RecipientMismatchError for the ciphertext of another row or tenant; the SDK's error when the ciphertext was
   *   altered or KMS cannot be reached
   */
  decrypt(owner: RecipientOwner, ciphertext: Uint8Array): Promise<string>;
}

/**
 * The ciphertext was made for another tenant or row. The message names the row it was found in, never the recipient.
 */
export class RecipientMismatchError extends Error {
  override readonly name = 'RecipientMismatchError';
}

/** Encrypts with data keys that a KMS key wraps: one KMS call per tenant and five minutes, not per notification. */
export function createKmsRecipientCipher(keyArn: string): RecipientCipher {
  return createCipher({ kind: 'kms', keyArn });
}

/**
 * Encrypts with data keys that a given key wraps, where there is no KMS.
 * @param key 32 bytes
 */
export function createLocalRecipientCipher(key: Uint8Array): RecipientCipher {
  if (key.length !== 32) throw new RangeError(`The recipient key has ${key.length} bytes; it must have 32.`);
  return createCipher({ kind: 'raw', key });
}

function createCipher(options: EncryptionSdkOptions): RecipientCipher {
  let loading: Promise<RecipientEncryption> | undefined;
  // Loaded on first use: the SDK is large, and would slow down even cold starts that do not need it.
  const sdk = () => {
    loading ??= import('./encryption-sdk.ts').then((module) => module.createRecipientEncryption(options));
    return loading;
  };
  const oneAtATime = createTurns();
  return {
    async encrypt({ tenant_id, log_id }, recipient) {
      const { seal } = await sdk();
      const plaintext = Buffer.from(JSON.stringify({ log_id, recipient }));
      return oneAtATime(`e:${tenant_id}`, () => seal({ tenant_id }, plaintext));
    },
    async decrypt({ tenant_id, log_id }, ciphertext) {
      const { open } = await sdk();
      const opened = await oneAtATime(`d:${tenant_id}`, () => open(ciphertext));
      const content: unknown = JSON.parse(opened.plaintext.toString());
      if (opened.context['tenant_id'] !== tenant_id || !isFor(log_id, content)) {
        throw new RecipientMismatchError(
          `The recipient stored with ${log_id} was encrypted for another row or tenant.`,
        );
      }
      return content.recipient;
    },
  };
}

function isFor(log_id: string, content: unknown): content is { log_id: string; recipient: string } {
  return (
    typeof content === 'object' &&
    content !== null &&
    'log_id' in content &&
    content.log_id === log_id &&
    'recipient' in content &&
    typeof content.recipient === 'string'
  );
}

/**
 * Runs calls with the same key one after the other. Otherwise a batch that meets an empty key cache would ask KMS for
 * the same data key once per notification.
 */
function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}
