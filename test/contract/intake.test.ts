import { describe } from 'vitest';
import { createContentStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createIntakeStore } from '../../src/adapters/dynamodb/intake/intake-store.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { createMemoryIntake } from '../../tools/simulation/twins/row-stores.ts';
import { intakeSuite } from './intake-suite.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

describe('storage of the intake in memory', () => {
  const tables = new MemoryTables(() => new Date());
  const intake = createMemoryIntake(tables);
  intakeSuite(() => ({ intake, contents: tables.contents, get: async (log_id) => tables.log.get(log_id) }));
});

describeOnDynamoDb(
  'storage of the intake',
  ({ client, tables, sealer, hashKey, get }) => ({
    intake: createIntakeStore({ client, tables, sealer, hashKey }),
    contents: createContentStore(client, tables.notification_content, sealer),
    get,
  }),
  intakeSuite,
);
