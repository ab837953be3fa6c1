import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDataKeyStore } from '../dynamodb/sealing/data-key-store.ts';
import { createDataKeys, type KeyWrap, wrapOnFirstUse } from '../sealing/data-keys.ts';
import { createSealer, type Sealer } from '../sealing/sealer.ts';

/** The sealer of a deployment, with its table of data keys. */
export function openSealer(wrap: KeyWrap, dataKeysTable: string): (dynamodb: DynamoDBClient) => Sealer {
  return (dynamodb) => createSealer(createDataKeys({ store: createDataKeyStore(dynamodb, dataKeysTable), wrap }));
}

/** KMS with the rights of the person who runs the command. */
export function operatorsKms(keyArn: string): KeyWrap {
  return wrapOnFirstUse(async () => {
    const [{ KMSClient }, { createKmsKeyWrap }] = await Promise.all([
      import('@aws-sdk/client-kms'),
      import('../kms/kms-key-wrap.ts'),
    ]);
    return createKmsKeyWrap(new KMSClient({ maxAttempts: 3 }), keyArn);
  });
}
