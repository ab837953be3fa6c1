import { type DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe } from 'vitest';
import { NEWSLETTER_CALLS } from '../../functions/shared/newsletter/bind-newsletter.ts';
import { withDirectCalls } from '../../src/adapters/direct-calls/direct-calls.ts';
import { toForeignRow, toItem } from '../../src/adapters/dynamodb/table/item.ts';
import type { Sealer } from '../../src/adapters/sealing/sealer.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import { availableEngines, startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { sealerOn } from '../support/sealer.ts';
import { createTables, type TableNames } from '../support/tables.ts';

/** What an implementation under test is made of, on tables of its own. */
export interface OnDynamoDb {
  /** Makes its calls as the functions do: those of newsletters make the most of them without the SDK's middleware. */
  readonly client: DynamoDBClient;
  readonly tables: TableNames;
  readonly sealer: Sealer;
  readonly hashKey: () => Promise<string>;
  /** Puts a row of NotificationLog as any writer could. */
  put(row: ForeignRow): Promise<void>;
  get(log_id: string): Promise<ForeignRow | undefined>;
}

/** Runs a contract suite on each DynamoDB engine of this machine. */
export function describeOnDynamoDb<T>(
  what: string,
  create: (given: OnDynamoDb) => T,
  suite: (created: () => T) => void,
): void {
  describe.each(availableEngines())(`${what} on %s`, (engine) => {
    let dynamodb: TestDynamoDb;
    let created: T;
    beforeAll(async () => {
      dynamodb = await startTestDynamoDb(engine);
      const client = withDirectCalls(dynamodb.client, NEWSLETTER_CALLS);
      const tables = await createTables(client, 'contract');
      const TableName = tables.notification_log;
      created = create({
        client,
        tables,
        sealer: sealerOn(client, tables),
        hashKey: async () => 'key',
        async put(row) {
          await client.send(new PutItemCommand({ TableName, Item: toItem(row) }));
        },
        async get(log_id) {
          const { Item } = await client.send(new GetItemCommand({ TableName, Key: { log_id: { S: log_id } } }));
          return Item && toForeignRow(Item);
        },
      });
    }, 120_000);
    afterAll(() => dynamodb?.stop());

    suite(() => created);
  });
}
