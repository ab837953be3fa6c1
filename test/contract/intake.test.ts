import { randomBytes } from 'node:crypto';
import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe } from 'vitest';
import { createContentStore } from '../../src/adapters/dynamodb/delivery/content-store.ts';
import { createIntakeStore } from '../../src/adapters/dynamodb/intake/intake-store.ts';
import { toForeignRow } from '../../src/adapters/dynamodb/table/item.ts';
import { createMemoryIntake } from '../../src/adapters/memory/memory-intake.ts';
import { MemoryTables } from '../../src/adapters/memory/memory-tables.ts';
import { createLocalRecipientCipher } from '../../src/adapters/recipient/recipient-cipher.ts';
import { availableEngines, startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { createTables } from '../support/tables.ts';
import { type IntakeStoreUnderTest, intakeSuite } from './intake-suite.ts';

describe('the intake’s storage in memory', () => {
  const tables = new MemoryTables(() => new Date());
  const intake = createMemoryIntake(tables);
  intakeSuite(() => ({ intake, contents: tables.contents, get: async (log_id) => tables.log.get(log_id) }));
});

describe.each(availableEngines())('the intake’s storage on %s', (engine) => {
  let dynamodb: TestDynamoDb;
  let store: IntakeStoreUnderTest;

  beforeAll(async () => {
    dynamodb = await startTestDynamoDb(engine);
    const { client } = dynamodb;
    const tables = await createTables(client, 'intake');
    const cipher = createLocalRecipientCipher(randomBytes(32));
    store = {
      intake: createIntakeStore({ client, tables, cipher, hashKey: async () => 'key' }),
      contents: createContentStore(client, tables.notification_content, cipher),
      async get(log_id) {
        const Key = { log_id: { S: log_id } };
        const { Item } = await client.send(new GetItemCommand({ TableName: tables.notification_log, Key }));
        return Item && toForeignRow(Item);
      },
    };
  }, 120_000);
  afterAll(() => dynamodb?.stop());

  intakeSuite(() => store);
});
