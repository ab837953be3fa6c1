import type { EncryptionSdkOptions, RecipientEncryption } from './encryption-sdk.ts';

/** Whose recipient it is: a ciphertext is worth nothing in another row. */
interface RecipientOwner {
  readonly tenant_id: string;
  readonly log_id: string;
}

/** Encrypts what identifies a person, bound to its tenant and row (his-notification-log-table.md: 暗号化必須). */
export interface RecipientCipher {
  encrypt(owner: RecipientOwner, recipient: string): Promise<Uint8Array>;
  /** @throws RecipientMismatchError for another's ciphertext; the SDK's error when it was altered or KMS is out of reach. */
  decrypt(owner: RecipientOwner, ciphertext: Uint8Array): Promise<string>;
}

/** The ciphertext was made for another tenant or row. Names the row that it was found in, never the recipient. */
export class RecipientMismatchError extends Error {
  override readonly name = 'RecipientMismatchError';
}

/** Data keys wrapped by a KMS key: one KMS call a tenant and five minutes, not one a notification. */
export function createKmsRecipientCipher(keyArn: string): RecipientCipher {
  return createCipher({ kind: 'kms', keyArn });
}

/**
 * Data keys wrapped by a key of our own, where there is no KMS.
 * @param key 32 bytes
 */
export function createLocalRecipientCipher(key: Uint8Array): RecipientCipher {
  if (key.length !== 32) throw new RangeError(`The recipient key has ${key.length} bytes; it must have 32.`);
  return createCipher({ kind: 'raw', key });
}

function createCipher(options: EncryptionSdkOptions): RecipientCipher {
  let loading: Promise<RecipientEncryption> | undefined;
  // Loaded on first use: the SDK would otherwise be a large part of every cold start, also of those without need of it.
  const sdk = () => {
    loading ??= import('./encryption-sdk.ts').then((module) => module.createRecipientEncryption(options));
    return loading;
  };
  const inTurn = createTurns();
  return {
    async encrypt({ tenant_id, log_id }, recipient) {
      const { seal } = await sdk();
      const plaintext = Buffer.from(JSON.stringify({ log_id, recipient }));
      return inTurn(`e:${tenant_id}`, () => seal({ tenant_id }, plaintext));
    },
    async decrypt({ tenant_id, log_id }, ciphertext) {
      const { open } = await sdk();
      const opened = await inTurn(`d:${tenant_id}`, () => open(ciphertext));
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
 * Runs what has the same key one after the other. A batch that arrives at an empty key cache would otherwise ask KMS
 * for the same data key once a notification.
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
