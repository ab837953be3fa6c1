import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDataKeyStore } from '../dynamodb/sealing/data-key-store.ts';
import { createDataKeys, type KeyWrap } from '../sealing/data-keys.ts';
import { createSealer, type Sealer } from '../sealing/sealer.ts';

/** The sealer of a deployment, with its table of data keys. */
export function openSealer(wrap: KeyWrap, dataKeysTable: string): (dynamodb: DynamoDBClient) => Sealer {
  return (dynamodb) =>
    createSealer(createDataKeys({ store: createDataKeyStore(dynamodb, dataKeysTable), wrap, clock: () => new Date() }));
}

/** KMS with the rights of the person who runs the command. Its client is loaded when the first key is needed. */
export function operatorsKms(keyArn: string): KeyWrap {
  let loading: Promise<KeyWrap> | undefined;
  const kms = () => {
    loading ??= Promise.all([import('@aws-sdk/client-kms'), import('../kms/kms-key-wrap.ts')]).then(
      ([{ KMSClient }, { createKmsKeyWrap }]) => createKmsKeyWrap(new KMSClient({ maxAttempts: 3 }), keyArn),
    );
    return loading;
  };
  return {
    make: async (context) => (await kms()).make(context),
    unwrap: async (context, wrapped) => (await kms()).unwrap(context, wrapped),
  };
}
