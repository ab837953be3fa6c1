import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { querySchema } from '../../src/application/contract/api/intake.ts';
import type { ListDeps, NotificationPage } from '../../src/application/list-notifications.ts';
import { listOfTenant } from '../../src/application/list-of-tenant.ts';
import { historyKeys } from '../../src/core/model/history-index.ts';
import { check } from '../../src/http/check.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { baseShards } from '../support/index-shards.ts';
import { dueRow, iso, T0 } from '../support/rows.ts';
import { createTables } from '../support/tables.ts';

let dynamodb: TestDynamoDb;
let table: string;
let deps: ListDeps;
/** Entries of an index page, for a test to need few rows; and the queries made. */
let pageSize: number | undefined;
let queries = 0;

beforeAll(async () => {
  dynamodb = await startTestDynamoDb();
  table = (await createTables(dynamodb.client, 'list')).notification_log;
  countQueries(dynamodb.client);
  deps = {
    dynamodb: dynamodb.client,
    deployment: { tables: { notification_log: table } },
    clock: () => T0,
    shards: baseShards,
  };
});
afterAll(() => dynamodb?.stop());
beforeEach(() => {
  pageSize = undefined;
  queries = 0;
});

function countQueries(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName !== 'QueryCommand') return next(args);
        queries += 1;
        return next({ ...args, input: { ...args.input, ...(pageSize !== undefined && { Limit: pageSize }) } });
      },
    { step: 'initialize' },
  );
}

async function put(log_id: string, changes: object): Promise<void> {
  const row = { ...dueRow({ log_id, ...changes }), created_at: iso() };
  await dynamodb.client.send(
    new PutItemCommand({ TableName: table, Item: toItem({ ...row, ...historyKeys(row, T0) }) }),
  );
}

async function putMany(count: number, name: string, changes: object): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, i) => put(`${name}-${i}`, changes)));
}

/** Every answer of a list to its end. */
async function answers(tenant_id: string, query: Readonly<Record<string, string>>) {
  const all: { ids: string[]; cursor: string | null; queries: number }[] = [];
  let cursor: string | null = null;
  do {
    queries = 0;
    const asked = check(querySchema, { ...query, ...(cursor !== null && { cursor }) });
    const { rows, next_cursor }: NotificationPage = await listOfTenant(asked, tenant_id, deps);
    cursor = next_cursor;
    all.push({ ids: rows.map(({ log_id }) => String(log_id)), cursor, queries });
  } while (cursor !== null);
  return all;
}

const decoded = (cursor: string | null) => Buffer.from(cursor ?? '', 'base64url').toString();

describe('the copies of a notification', () => {
  // Ids that another tenant chose so that 32 bits of FNV-1a, and the rows' keys with them, were the same.
  const [theirs, ours] = ['N-ecpo8ppdv7', 'N-h2ul5g0512'];

  beforeAll(async () => {
    await putMany(250, 'theirs', { tenant_id: 'tenant-crowd', notification_id: theirs });
    await putMany(3, 'ours', { tenant_id: 'tenant-2', notification_id: ours });
  });

  it('cannot be crowded out by another tenant’s', async () => {
    pageSize = 1;
    expect(await answers('tenant-2', { notification_id: ours })).toHaveLength(1);
    expect(queries).toBeLessThanOrEqual(8 + 3);
  });

  it('are told in as many answers as they need', async () => {
    const told = await answers('tenant-2', { notification_id: ours, limit: '1' });
    expect(told.map(({ ids }) => ids.length)).toEqual([1, 1, 1]);
    expect(told.flatMap(({ ids }) => ids).sort()).toEqual(['ours-0', 'ours-1', 'ours-2']);
    const all = await answers('tenant-crowd', { notification_id: theirs, limit: '100' });
    expect(all.map(({ ids }) => ids.length)).toEqual([100, 100, 50]);
    expect(new Set(all.flatMap(({ ids }) => ids)).size).toBe(250);
  });

  it('are the tenant’s own, even where another’s have the same key', async () => {
    const { notification_key } = historyKeys({ log_id: 'ours-0', tenant_id: 'tenant-2', notification_id: ours }, T0);
    for (let i = 0; i < 3; i++) {
      const row = {
        ...dueRow({ log_id: `forged-${i}`, tenant_id: 'tenant-crowd', notification_id: ours }),
        created_at: iso(),
      };
      const Item = toItem({ ...row, ...historyKeys(row, T0), notification_key });
      await dynamodb.client.send(new PutItemCommand({ TableName: table, Item }));
    }
    const told = await answers('tenant-2', { notification_id: ours, limit: '1' });
    expect(told.flatMap(({ ids }) => ids).sort()).toEqual(['ours-0', 'ours-1', 'ours-2']);
    for (const { cursor } of told) expect(decoded(cursor)).not.toMatch(/theirs-|forged-/);
  });
});

describe('the copies of a broadcast', () => {
  it('are all listed, once each, over all partitions that the stage ever had', async () => {
    const broadcast = { tenant_id: 'tenant-wide', notification_id: 'N-wide' };
    const spread = { work: 16, history: 4 };
    const rows = Array.from({ length: 120 }, (_, i) => dueRow({ ...broadcast, log_id: `wide-${i}` }));
    for (const row of rows) {
      const Item = toItem({ ...row, ...historyKeys(row, T0, { shards: spread }) });
      await dynamodb.client.send(new PutItemCommand({ TableName: table, Item }));
    }
    const wide = { ...deps, shards: async () => spread };
    const log_ids: unknown[] = [];
    let cursor: string | null = null;
    do {
      const asked = check(querySchema, { notification_id: 'N-wide', limit: '7', ...(cursor !== null && { cursor }) });
      const page: NotificationPage = await listOfTenant(asked, 'tenant-wide', wide);
      log_ids.push(...page.rows.map(({ log_id }) => log_id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(log_ids.sort()).toEqual(rows.map(({ log_id }) => log_id).sort());
  });
});

describe('a list of a channel that is rare', () => {
  it('reads a bounded part of the index for an answer, and goes on from there', async () => {
    await putMany(120, 'hook', { tenant_id: 'tenant-rare', channel: 'webhook' });
    await putMany(2, 'slack', { tenant_id: 'tenant-rare', channel: 'slack' });
    pageSize = 1;
    const told = await answers('tenant-rare', { channel: 'slack', from: iso(), to: iso() });
    expect(told.flatMap(({ ids }) => ids).sort()).toEqual(['slack-0', 'slack-1']);
    expect(told.length).toBeGreaterThan(4);
    // Twenty pages that go on, and the last one of each of the day's four partitions.
    for (const { queries } of told) expect(queries).toBeLessThanOrEqual(24);
  });

  it('ends at once where there is little to read', async () => {
    await put('lone', { tenant_id: 'tenant-lone', channel: 'webhook' });
    expect(await answers('tenant-lone', { channel: 'slack' })).toMatchObject([{ ids: [], cursor: null }]);
  });
});
