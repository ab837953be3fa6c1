import { describe } from 'vitest';
import {
  createClaimStore,
  createContentStore,
  createRecordStore,
} from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createEventRows, createOperatorRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createSuccessorStore } from '../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIndexStore } from '../../src/adapters/dynamodb/indexing/index-store.ts';
import { createRowScan } from '../../src/adapters/dynamodb/indexing/row-scan.ts';
import { createCorrectionStore } from '../../src/adapters/dynamodb/operator/correction-store.ts';
import { createDueIndex } from '../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { malformedEntries } from '../../src/core/delivery/take-over.ts';
import type { IndexStore } from '../../src/core/indexing/index-row.ts';
import { BASE_SHARDS } from '../../src/core/model/index-shards.ts';
import { type ContentSteps, putInSteps } from '../../tools/simulation/twins/content-steps.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { Tables } from '../../tools/simulation/twins/tables.ts';
import { Stores } from '../../tools/simulation/world/stores.ts';
import { claimSuite } from './claim-suite.ts';
import { contentSuite } from './content-suite.ts';
import { correctionSuite } from './correction-suite.ts';
import { failoverSuite } from './failover-suite.ts';
import { indexingSuite } from './indexing-suite.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';
import type { StoreUnderTest } from './store-under-test.ts';
import { workIndexSuite } from './work-index-suite.ts';

function storeSuite(store: () => StoreUnderTest): void {
  for (const suite of [claimSuite, workIndexSuite, contentSuite, failoverSuite, indexingSuite, correctionSuite])
    suite(store);
}

const now = () => new Date();

function inMemory(tables: MemoryTables, rooms: Omit<StoreUnderTest, 'scan' | 'put' | 'get'>): StoreUnderTest {
  return {
    ...rooms,
    scan: tables.scan,
    put: async (row) => void tables.log.set(String(row['log_id']), { ...row }),
    get: async (log_id) => tables.log.get(log_id),
  };
}

describe('storage in memory', () => {
  const tables = new MemoryTables(now);
  storeSuite(() => inMemory(tables, { ...tables, indexStore: tables }));
});

describe('storage of the simulated world', () => {
  const stores = new Stores(now, Math.random);
  const room = <T extends object>(name: string) =>
    new Proxy({} as T, {
      get:
        (_, method) =>
        (...args: unknown[]) =>
          stores.call(`${name}.${String(method)}`, args),
    });
  const indexing = room<IndexStore & ContentSteps>('indexing');
  storeSuite(() =>
    inMemory(stores.tables, {
      rows: room('rows'),
      eventRows: room('eventRows'),
      operatorRows: room('operatorRows'),
      records: room('records'),
      contents: room('contents'),
      successors: room('successors'),
      corrections: room('corrections'),
      malformed: room('malformed'),
      indexStore: { index: indexing.index, hasContent: indexing.hasContent, putContent: putInSteps(indexing) },
      dueIndex: stores.tables.dueIndex,
    }),
  );
});

describe('storage of the scenarios, of which each entry of the index is a moment behind its row', () => {
  let later = now().getTime();
  const time = {
    get now() {
      later += 1_000;
      return later;
    },
    clock: now,
  };
  const { memory, rows, records, index } = new Tables(time, { written() {}, recorded() {} });
  storeSuite(() => inMemory(memory, { ...memory, rows, records, dueIndex: index, indexStore: memory }));
});

describeOnDynamoDb<StoreUnderTest>(
  'storage',
  ({ client, tables, sealer, hashKey, put, get }) => ({
    rows: createClaimStore(client, tables.notification_log, now),
    eventRows: createEventRows(client, tables.notification_log, now),
    operatorRows: createOperatorRows(client, tables.notification_log, now),
    malformed: malformedEntries({
      rows: createOperatorRows(client, tables.notification_log, now),
      records: createRecordStore(client, tables.notification_retry_log),
      clock: now,
    }),
    records: createRecordStore(client, tables.notification_retry_log),
    contents: createContentStore(client, tables.notification_content, sealer),
    dueIndex: createDueIndex(client, tables.notification_log, async () => BASE_SHARDS.work),
    indexStore: createIndexStore({ client, tables, sealer, hashKey }),
    scan: createRowScan(client, tables),
    successors: createSuccessorStore(client, tables),
    corrections: createCorrectionStore({ client, tables, sealer, hashKey, clock: now }),
    put,
    get,
  }),
  storeSuite,
);
