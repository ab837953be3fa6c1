import { describe } from 'vitest';
import { createClaimStore } from '../../src/adapters/dynamodb/delivery/claim-store.ts';
import { createContentStore } from '../../src/adapters/dynamodb/delivery/content-store.ts';
import { createRecordStore } from '../../src/adapters/dynamodb/delivery/record-store.ts';
import { createSuccessorStore } from '../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIndexStore } from '../../src/adapters/dynamodb/indexing/index-store.ts';
import { createRowScan } from '../../src/adapters/dynamodb/indexing/row-scan.ts';
import { createDueIndex } from '../../src/adapters/dynamodb/sweep/due-index.ts';
import { MemoryTables } from '../../src/adapters/memory/memory-tables.ts';
import { BASE_SHARDS } from '../../src/core/model/work/index-shards.ts';
import { claimSuite } from './claim-suite.ts';
import { contentSuite } from './content-suite.ts';
import { failoverSuite } from './failover-suite.ts';
import { indexingSuite } from './indexing-suite.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';
import type { StoreUnderTest } from './store-under-test.ts';
import { workIndexSuite } from './work-index-suite.ts';

function storeSuite(store: () => StoreUnderTest): void {
  for (const suite of [claimSuite, workIndexSuite, contentSuite, failoverSuite, indexingSuite]) suite(store);
}

describe('storage in memory', () => {
  const tables = new MemoryTables(() => new Date());
  storeSuite(() => ({
    rows: tables.rows,
    records: tables.records,
    contents: tables.contents,
    dueIndex: tables.dueIndex,
    indexStore: tables,
    scan: tables.scan,
    successors: tables.successors,
    put: async (row) => void tables.log.set(String(row['log_id']), { ...row }),
    get: async (log_id) => tables.log.get(log_id),
  }));
});

describeOnDynamoDb<StoreUnderTest>(
  'storage',
  ({ client, tables, sealer, hashKey, put, get }) => ({
    rows: createClaimStore(client, tables.notification_log, () => new Date()),
    records: createRecordStore(client, tables.notification_retry_log),
    contents: createContentStore(client, tables.notification_content, sealer),
    dueIndex: createDueIndex(client, tables.notification_log, async () => BASE_SHARDS.work),
    indexStore: createIndexStore({ client, tables, sealer, hashKey }),
    scan: createRowScan(client, tables),
    successors: createSuccessorStore(client, tables),
    put,
    get,
  }),
  storeSuite,
);
