import { randomBytes } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDataKeyStore, createLocalKeyWrap } from '../../src/adapters/sealing/data-keys.ts';
import { createDataKeys, createSealer, type Sealer } from '../../src/adapters/sealing/sealer.ts';
import type { TableNames } from './tables.ts';

/** A sealer as the local runtime has it: data keys in the table, wrapped by a key of its own. */
export function sealerOn(client: DynamoDBClient, tables: TableNames, masterKey: Uint8Array = randomBytes(32)): Sealer {
  return createSealer(
    createDataKeys({
      store: createDataKeyStore(client, tables.data_keys),
      wrap: createLocalKeyWrap(async () => masterKey),
      clock: () => new Date(),
    }),
  );
}
