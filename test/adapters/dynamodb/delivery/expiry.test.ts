import { type AttributeValue, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRecordStore } from '../../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createSuccessorStore } from '../../../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIndexStore } from '../../../../src/adapters/dynamodb/indexing/index-store.ts';
import { createIntakeStore } from '../../../../src/adapters/dynamodb/intake/intake-store.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { failOver } from '../../../../src/core/delivery/failover.ts';
import { failedBecause } from '../../../../src/core/delivery/verdict.ts';
import { indexRow } from '../../../../src/core/indexing/index-row.ts';
import { accept } from '../../../../src/core/intake/accept.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../../src/core/model/retry-policy.ts';
import { intakeRequest, memoryIntake } from '../../../support/api/intake.ts';
import { retryRecord } from '../../../support/delivering.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { at, dueRow } from '../../../support/rows.ts';
import { sealerOn } from '../../../support/sealer.ts';
import { createTables, type TableNames } from '../../../support/tables.ts';

/** Not a whole second: TTL is in whole ones, rounded down. */
const NOW = at(999);
const DAY = 86_400;
/** DynamoDB's TTL: seconds since 1970. Milliseconds would keep an item for 50,000 years. */
const twoYearsAfter = (iso: string) => ({ N: String(Math.floor(Date.parse(iso) / 1000) + 730 * DAY) });

let dynamodb: TestDynamoDb;
let tables: TableNames;
let stores: ReturnType<typeof storesOn>;
beforeAll(async () => {
  dynamodb = await startTestDynamoDb();
  tables = await createTables(dynamodb.client, 'expiry');
  stores = storesOn();
}, 60_000);
afterAll(() => dynamodb?.stop());

function storesOn() {
  const { client } = dynamodb;
  const on = { client, tables, sealer: sealerOn(client, tables), hashKey: async () => 'key' };
  return {
    index: createIndexStore(on),
    intake: createIntakeStore(on),
    records: createRecordStore(client, tables.notification_retry_log),
    successors: createSuccessorStore(client, tables),
  };
}

/** `expires_at` as it is stored, by id. */
async function expiryIn(table: string, key = 'log_id'): Promise<Record<string, AttributeValue | undefined>> {
  const { Items = [] } = await dynamodb.client.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  return Object.fromEntries(Items.map((item) => [item[key]?.S, item['expires_at']]));
}

it.each([
  ['that is due', {}, NOW.toISOString()],
  ['that waits for its time', { scheduled_at: '2026-12-24T18:00:00.000Z' }, '2026-12-24T18:00:00.000Z'],
])('row and content of a request %s expire together, two years after that', async (_, changes, from) => {
  const { deps } = memoryIntake();
  const request = intakeRequest(JSON.stringify(changes), changes);
  const { log_id } = await accept(request, { ...deps, store: stores.intake, clock: () => NOW });
  expect((await expiryIn(tables.notification_log))[log_id]).toEqual(twoYearsAfter(from));
  expect((await expiryIn(tables.notification_content))[log_id]).toEqual(twoYearsAfter(from));
});

it.each([
  ['long ago', '2020-01-01T00:00:00.000Z', NOW.toISOString()],
  ['a month ago', '2026-02-01T00:00:00.000Z', NOW.toISOString()],
  ['after our time', '2027-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
])('row and content of a writer that created it %s expire together', async (when, created_at, from) => {
  const row = {
    log_id: `created-${when}`,
    tenant_id: 'tenant-1',
    notification_type: 'WEBHOOK',
    recipient_address: 'https://example.com/hook',
    message_body: 'Hello',
    message_format: 'PLAIN',
    send_status: 'FAILED',
    send_attempts: 1,
    created_at,
  };
  await dynamodb.client.send(new PutItemCommand({ TableName: tables.notification_log, Item: toItem(row) }));
  await indexRow({ row, sequence: '1' }, { store: stores.index, policy, clock: () => NOW });
  expect((await expiryIn(tables.notification_log))[row.log_id]).toEqual(twoYearsAfter(from));
  expect((await expiryIn(tables.notification_content))[row.log_id]).toEqual(twoYearsAfter(from));
});

it('a record expires two years after its attempt, whoever writes it first', async () => {
  const retry_at = at(-DAY * 1000 + 500).toISOString();
  const record = retryRecord({ retry_at });
  await stores.records.putIfAbsent(record);
  const expiry = { [record.original_log_id]: twoYearsAfter(retry_at) };
  expect(await expiryIn(tables.notification_retry_log, 'original_log_id')).toEqual(expiry);
  expect(await stores.records.replace({ ...record, retry_status: 'SUCCESS' }, record)).toBe(true);
  expect(await expiryIn(tables.notification_retry_log, 'original_log_id')).toEqual(expiry);
});

it('a successor and its content expire two years after the failover, not with their predecessor', async () => {
  const { deps } = memoryIntake();
  const fallback = { channel: 'teams', recipient: 'https://hooks.example.com/x' } as const;
  const early = at(-300 * DAY * 1000);
  const { log_id } = await accept(intakeRequest('with fallback', { fallback }), {
    ...deps,
    store: stores.intake,
    clock: () => early,
  });
  const row = dueRow({ log_id, fallback_channel: 'teams' });
  await failOver(row, failedBecause('MAX_RETRIES', 'UNKNOWN'), 'sweep-1', {
    rows: { read: async () => row },
    successors: stores.successors,
    policy,
    clock: () => NOW,
  });
  for (const table of [tables.notification_log, tables.notification_content]) {
    const expiry = Object.entries(await expiryIn(table)).filter(([id]) => id.endsWith('-fallback'));
    expect(expiry.map(([, expires_at]) => expires_at)).toEqual([twoYearsAfter(NOW.toISOString())]);
    expect((await expiryIn(table))[log_id]).toEqual(twoYearsAfter(early.toISOString()));
  }
});
