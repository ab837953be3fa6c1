import { randomBytes } from 'node:crypto';
import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe } from 'vitest';
import { createClaimStore } from '../../src/adapters/dynamodb/delivery/claim-store.ts';
import { createContentStore } from '../../src/adapters/dynamodb/delivery/content-store.ts';
import { createRecordStore } from '../../src/adapters/dynamodb/delivery/record-store.ts';
import { createSuccessorStore } from '../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIndexStore } from '../../src/adapters/dynamodb/indexing/index-store.ts';
import { createDueIndex } from '../../src/adapters/dynamodb/sweep/due-index.ts';
import { toForeignRow, toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { MemoryTables } from '../../src/adapters/memory/memory-tables.ts';
import { createLocalRecipientCipher } from '../../src/adapters/recipient/recipient-cipher.ts';
import { availableEngines, startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { createTables } from '../support/tables.ts';
import { type StoreUnderTest, storeSuite } from './store-suite.ts';

describe('storage in memory', () => {
  const tables = new MemoryTables(() => new Date());
  storeSuite(() => ({
    rows: tables.rows,
    records: tables.records,
    contents: tables.contents,
    dueIndex: tables.dueIndex,
    indexStore: tables,
    successors: tables.successors,
    put: async (row) => void tables.log.set(String(row['log_id']), { ...row }),
    get: async (log_id) => tables.log.get(log_id),
  }));
});

describe.each(availableEngines())('storage on %s', (engine) => {
  let dynamodb: TestDynamoDb;
  let store: StoreUnderTest;

  beforeAll(async () => {
    dynamodb = await startTestDynamoDb(engine);
    const { client } = dynamodb;
    const tables = await createTables(client, 'contract');
    const cipher = createLocalRecipientCipher(randomBytes(32));
    store = {
      rows: createClaimStore(client, tables.notification_log, () => new Date()),
      records: createRecordStore(client, tables.notification_retry_log),
      contents: createContentStore(client, tables.notification_content, cipher),
      dueIndex: createDueIndex(client, tables.notification_log),
      successors: createSuccessorStore(client, tables),
      indexStore: createIndexStore({ client, tables, cipher, hashKey: async () => 'key' }),
      async put(row) {
        await client.send(new PutItemCommand({ TableName: tables.notification_log, Item: toItem(row) }));
      },
      async get(log_id) {
        const Key = { log_id: { S: log_id } };
        const { Item } = await client.send(new GetItemCommand({ TableName: tables.notification_log, Key }));
        return Item && toForeignRow(Item);
      },
    };
  }, 120_000);
  afterAll(() => dynamodb?.stop());

  storeSuite(() => store);
});
