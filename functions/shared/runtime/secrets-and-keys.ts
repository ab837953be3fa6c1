import {
  createKmsRecipientCipher,
  createLocalRecipientCipher,
  type RecipientCipher,
} from '../../../src/adapters/recipient/recipient-cipher.ts';
import type { SecretNames } from '../../../src/adapters/secrets/integration-credentials.ts';
import type { SecretSource } from '../../../src/adapters/secrets/secret-source.ts';
import { createSecretsFileSource, FILE_INTEGRATION_PREFIX } from '../../../src/adapters/secrets/secrets-file.ts';
import { createSecretsManagerSource } from '../../../src/adapters/secrets/secrets-manager.ts';

interface KeyEnv {
  readonly RECIPIENT_KEY_ARN?: string | undefined;
  readonly RECIPIENT_HASH_SECRET?: string | undefined;
  readonly INTEGRATION_SECRET_PREFIX?: string | undefined;
  readonly INTEGRATION_SECRET_OLD_PREFIX?: string | undefined;
  readonly LOCAL_SECRETS_FILE?: string | undefined;
}

/** Secrets and keys of a function: from Secrets Manager and KMS, or from the local runtime's file. */
export interface SecretsAndKeys {
  readonly secrets: SecretSource;
  readonly integrationNames: Pick<SecretNames, 'prefix' | 'oldPrefix'>;
  readonly cipher: RecipientCipher;
  readonly hashKey: () => Promise<string>;
}

export function createSecretsAndKeys(env: KeyEnv): SecretsAndKeys {
  return env.LOCAL_SECRETS_FILE === undefined ? awsKeys(env) : fileKeys(env.LOCAL_SECRETS_FILE);
}

function awsKeys(env: KeyEnv): SecretsAndKeys {
  const { RECIPIENT_KEY_ARN, RECIPIENT_HASH_SECRET, INTEGRATION_SECRET_PREFIX: prefix = '' } = env;
  if (RECIPIENT_KEY_ARN === undefined) {
    throw new Error('RECIPIENT_KEY_ARN is not set: it must be the ARN of the KMS key that protects recipients.');
  }
  const secrets = createSecretsManagerSource();
  return {
    secrets,
    integrationNames: { prefix, oldPrefix: env.INTEGRATION_SECRET_OLD_PREFIX },
    cipher: createKmsRecipientCipher(RECIPIENT_KEY_ARN),
    hashKey: () => required(secrets, RECIPIENT_HASH_SECRET ?? 'RECIPIENT_HASH_SECRET (not set)'),
  };
}

function fileKeys(path: string): SecretsAndKeys {
  const secrets = createSecretsFileSource(path);
  let loading: Promise<RecipientCipher> | undefined;
  const cipher = () => {
    loading ??= required(secrets, 'recipient_key').then((key) =>
      createLocalRecipientCipher(Buffer.from(key, 'base64')),
    );
    return loading;
  };
  return {
    secrets,
    integrationNames: { prefix: FILE_INTEGRATION_PREFIX },
    cipher: {
      encrypt: async (owner, recipient) => (await cipher()).encrypt(owner, recipient),
      decrypt: async (owner, ciphertext) => (await cipher()).decrypt(owner, ciphertext),
    },
    hashKey: () => required(secrets, 'recipient_hash_key'),
  };
}

async function required(secrets: SecretSource, name: string): Promise<string> {
  const value = await secrets.get(name);
  if (value === undefined) throw new Error(`The secret ${name} does not exist; the function needs it.`);
  return value;
}
