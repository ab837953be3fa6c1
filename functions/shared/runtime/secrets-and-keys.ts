import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { loadedOnUse } from '../../../src/adapters/batching/gather.ts';
import { createDataKeyStore, createLocalKeyWrap, type KeyWrap } from '../../../src/adapters/sealing/data-keys.ts';
import { createDataKeys, createSealer, type Sealer } from '../../../src/adapters/sealing/sealer.ts';
import {
  createSecretsFileSource,
  FILE_INTEGRATION_PREFIX,
  requiredSecret,
  type SecretSource,
} from '../../../src/adapters/secrets/secret-source.ts';
import { createSecretsManagerSource } from '../../../src/adapters/secrets/secrets-manager.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import { limits } from './clients/lean.ts';

interface KeyEnv {
  readonly DATA_KEYS_TABLE: string;
  readonly RECIPIENT_KEY_ARN?: string | undefined;
  readonly RECIPIENT_HASH_SECRET?: string | undefined;
  readonly UNSUBSCRIBE_SECRET?: string | undefined;
  readonly INTEGRATION_SECRET_PREFIX?: string | undefined;
  readonly LOCAL_SECRETS_FILE?: string | undefined;
}

/** Secrets and keys of a function: from Secrets Manager and KMS, or from the local runtime's file. */
export interface SecretsAndKeys {
  readonly secrets: SecretSource;
  /** The names of the secrets with a channel's credentials are this prefix and the integration_config_id. */
  readonly integrationPrefix: (channel: Channel) => string;
  readonly sealer: Sealer;
  readonly hashKey: () => Promise<string>;
  readonly unsubscribeSecret: () => Promise<string>;
}

/** @param client reads and writes the table of the data keys */
export function createSecretsAndKeys(env: KeyEnv, client: DynamoDBClient): SecretsAndKeys {
  const { wrap, ...rest } = env.LOCAL_SECRETS_FILE === undefined ? awsKeys(env) : fileKeys(env.LOCAL_SECRETS_FILE);
  const store = createDataKeyStore(client, env.DATA_KEYS_TABLE);
  return { ...rest, sealer: createSealer(createDataKeys({ store, wrap })) };
}

type Source = Omit<SecretsAndKeys, 'sealer'> & { readonly wrap: KeyWrap };

function awsKeys(env: KeyEnv): Source {
  const { RECIPIENT_KEY_ARN, RECIPIENT_HASH_SECRET, UNSUBSCRIBE_SECRET, INTEGRATION_SECRET_PREFIX: prefix = '' } = env;
  if (RECIPIENT_KEY_ARN === undefined) {
    throw new Error('RECIPIENT_KEY_ARN is not set: it must be the ARN of the KMS key that protects recipients.');
  }
  const secrets = createSecretsManagerSource();
  return {
    secrets,
    integrationPrefix: (channel) => `${prefix}${channel}/`,
    // KMS's client is loaded when the first key is needed, which is not in Lambda's init phase.
    wrap: loadedOnUse<KeyWrap>(
      async () => {
        const { createKmsAccess } = await import('../../../src/adapters/kms/kms-key-wrap.ts');
        return createKmsAccess(RECIPIENT_KEY_ARN, { maxAttempts: 3, requestHandler: limits(2_000) });
      },
      'make',
      'unwrap',
    ),
    hashKey: requiredSecret(secrets, RECIPIENT_HASH_SECRET ?? 'RECIPIENT_HASH_SECRET (not set)'),
    unsubscribeSecret: requiredSecret(secrets, UNSUBSCRIBE_SECRET ?? 'UNSUBSCRIBE_SECRET (not set)'),
  };
}

function fileKeys(path: string): Source {
  const secrets = createSecretsFileSource(path);
  return {
    secrets,
    integrationPrefix: () => FILE_INTEGRATION_PREFIX,
    wrap: createLocalKeyWrap(async () => Buffer.from(await requiredSecret(secrets, 'recipient_key')(), 'base64')),
    hashKey: requiredSecret(secrets, 'recipient_hash_key'),
    unsubscribeSecret: requiredSecret(secrets, 'unsubscribe_key'),
  };
}
