import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ListPlace } from '../../../../src/adapters/dynamodb/operator/merge-runs.ts';
import { type OrderedQuery, OrderedSearch } from '../../../../src/adapters/dynamodb/operator/newest-first.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { historyKeys } from '../../../../src/core/model/history-index.ts';
import { workQueueOf } from '../../../../src/core/model/work-index.ts';
import type { SearchFilter } from '../../../../src/core/operator/search-filter.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { baseShards } from '../../../support/index-shards.ts';
import { dueRow } from '../../../support/rows.ts';
import { createTables } from '../../../support/tables.ts';

const END = Date.parse('2026-11-03T00:00:00.000Z');
const PERIOD = { from: '2026-10-30T00:00:00.000Z', to: new Date(END - 1).toISOString() };

interface Stored {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly created_at: string;
  readonly work_at: string;
  readonly channel: 'slack' | 'email';
}

let dynamodb: TestDynamoDb;
let table: string;
let stored: Stored[];
/** Entries of an index page, so that few rows make many pages; and the requests made. */
let pageSize: number | undefined;
let queries = 0;

beforeAll(async () => {
  dynamodb = await startTestDynamoDb();
  table = (await createTables(dynamodb.client, 'newest')).notification_log;
  dynamodb.client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName !== 'QueryCommand') return next(args);
        queries += 1;
        return next({ ...args, input: { ...args.input, ...(pageSize !== undefined && { Limit: pageSize }) } });
      },
    { step: 'initialize' },
  );
  stored = Array.from({ length: 90 }, (_, i) => {
    // Bursts of three share a moment; tenants write in turns, one of them on the first day only.
    const at = new Date(END - 1 - Math.floor(i / 3) * 5_000_017);
    const tenant_id = ['T1', 'T1#2', 'T10', 'T2', 'T1'][(i * 7) % 5] ?? 'T1';
    const created_at = at.toISOString();
    return { log_id: `n-${i}`, tenant_id, created_at, work_at: created_at, channel: i % 9 === 0 ? 'slack' : 'email' };
  });
  await Promise.all(stored.map((row) => put(row)));
});
afterAll(() => dynamodb?.stop());
beforeEach(() => {
  pageSize = undefined;
  queries = 0;
});

async function put(row: Stored, older: object = {}): Promise<void> {
  const keys = historyKeys(row, new Date(row.created_at));
  const dead = { work_queue: workQueueOf('dead', 'normal', row.log_id), work_at: row.work_at };
  const Item = toItem({
    ...dueRow({ ...row, send_status: 'FAILED' }),
    ...keys,
    ...older,
    ...dead,
    created_at: row.created_at,
  });
  await dynamodb.client.send(new PutItemCommand({ TableName: table, Item }));
}

const searchWith = () => new OrderedSearch(dynamodb.client, table, () => new Date(END), baseShards);

async function listed(
  source: 'created' | 'dead',
  filter: SearchFilter,
  limit: number,
  options: Partial<OrderedQuery> = {},
): Promise<string[]> {
  const search = searchWith();
  const ids: string[] = [];
  let after: ListPlace | undefined;
  do {
    const query = { filter, fits: () => true, limit, after, ...options };
    const period = after === undefined ? PERIOD : { ...PERIOD, to: after.time };
    const page = source === 'created' ? await search.created(period, query) : await search.work('dead', query);
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    ids.push(...page.rows.map(({ log_id }) => String(log_id)));
    after = page.next;
  } while (after !== undefined);
  return ids;
}

/** Each id once, and none before one that is newer. */
function expectNewestFirst(ids: readonly string[], rows: readonly Stored[]): void {
  const times = new Map(rows.map(({ log_id, created_at }) => [log_id, created_at]));
  expect(ids.toSorted()).toEqual([...times.keys()].toSorted());
  const order = ids.map((log_id) => times.get(log_id) ?? '');
  expect(order).toEqual(order.toSorted().reverse());
}

describe.each(['created', 'dead'] as const)('the list of what is %s', (source) => {
  it.each([
    ['of a tenant', { tenant_id: 'T1' }],
    ['of a tenant whose name begins another', { tenant_id: 'T1#2' }],
    ['over all tenants', {}],
    ['of a channel, over all tenants', { channel: 'slack' }],
    ['of a tenant and a channel', { tenant_id: 'T2', channel: 'email' }],
  ] as const)('%s is newest first, over all shards, days and pages', async (_, filter) => {
    const rows = stored.filter(
      (row) =>
        (!('tenant_id' in filter) || row.tenant_id === filter.tenant_id) &&
        (!('channel' in filter) || row.channel === filter.channel),
    );
    for (const limit of [4, 200]) expectNewestFirst(await listed(source, filter, limit), rows);
  });

  it('is so however the index is cut into pages', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 60 }), async (size, limit) => {
        pageSize = size;
        expectNewestFirst(await listed(source, {}, limit, { full: true }), stored);
        const ours = stored.filter(({ tenant_id }) => tenant_id === 'T10');
        expectNewestFirst(await listed(source, { tenant_id: 'T10' }, limit), ours);
      }),
      { numRuns: 2 },
    );
  });
});

describe('what a page reads', () => {
  it('of one tenant: one query per shard of the newest day', async () => {
    await searchWith().created(PERIOD, { filter: { tenant_id: 'T1' }, fits: () => true, limit: 3 });
    expect(queries).toBe(4);
  });

  it('over all tenants: what finds the four tenants in each shard', async () => {
    await searchWith().created(PERIOD, { filter: {}, fits: () => true, limit: 3 });
    expect(queries).toBeLessThanOrEqual(4 * 5);
  });

  it('ends with what is known so far, and goes on from there, if little matches', async () => {
    pageSize = 1;
    const page = await searchWith().created(PERIOD, { filter: { tenant_id: 'T1' }, fits: () => false, limit: 50 });
    expect(page.rows).toEqual([]);
    expect(page.next).toBeDefined();
    expect(queries).toBeLessThanOrEqual(24);
  });

  it('has no place behind it on the oldest day, on which the period begins at noon, however many queries it took', async () => {
    const search = new OrderedSearch(
      dynamodb.client,
      table,
      () => new Date(END),
      async () => ({ work: 4, history: 64 }),
    );
    const period = { from: '2026-10-24T12:00:00.000Z', to: PERIOD.to };
    const query = { filter: { tenant_id: 'nobody' }, fits: () => true, limit: 50 };
    expect(await search.created(period, { ...query, after: undefined })).toEqual({ rows: [] });
    expect(queries).toBeGreaterThan(500);
  });
});

it.each(['', '#x', 'S', '.'])(
  'tenants whose names begin with the name of another and the day of the list, and %j, are listed with it',
  async (rest) => {
    const day = '2026-07-01';
    const names = ['A', `A#${day}${rest}`, `A#${day}${rest}#${day}`, 'B'];
    const rows = names.flatMap((tenant_id, t) =>
      Array.from({ length: 6 }, (_, i): Stored => {
        const created_at = new Date(Date.parse(`${day}T10:00:00.000Z`) + i * 1_000 + t).toISOString();
        return { log_id: `${rest}-${t}-${i}`, tenant_id, created_at, work_at: created_at, channel: 'email' };
      }),
    );
    await Promise.all(rows.map((row) => put(row)));
    pageSize = 1;
    const from = `${day}T00:00:00.000Z`;
    const query = { filter: {}, fits: (row: object) => String(Reflect.get(row, 'log_id')).startsWith(`${rest}-`) };
    const period = { from, to: `${day}T23:59:59.999Z` };
    const page = await searchWith().created(period, { ...query, limit: 100, full: true });
    expectNewestFirst(
      page.rows.map(({ log_id }) => String(log_id)),
      rows,
    );
  },
);

// Last, because its rows are in the lists of all tenants.
describe('a tenant whose name looks like a key of another', () => {
  it('is neither passed over nor listed twice, and has a list of its own', async () => {
    const [day, name] = ['2026-10-31', 'T3'];
    const tenants = [name, `${name}#${day}`, `${name}#${day}T12`, `${name}#${day}T`, `${name}#!${day}T12`];
    const rows = Array.from({ length: 30 }, (_, i) => {
      const created_at = new Date(Date.parse(`${day}T01:00:00.000Z`) + i * 2_600_000).toISOString();
      const tenant_id = tenants[i % 2 === 0 ? 0 : 1 + (((i - 1) / 2) % 4)] ?? name;
      return { log_id: `k-${i}`, tenant_id, created_at, work_at: created_at, channel: 'slack' } as const;
    });
    await Promise.all(rows.map((row) => put(row)));
    const own = { fits: (row: object) => String(Reflect.get(row, 'log_id')).startsWith('k-') };
    for (pageSize of [1, undefined]) {
      expectNewestFirst(await listed('created', {}, 7, own), rows);
      for (const tenant_id of tenants) {
        const some = rows.filter((row) => row.tenant_id === tenant_id);
        expectNewestFirst(await listed('created', { tenant_id }, 7, own), some);
      }
    }
  });

  it('is found under the keys that its rows had before, too', async () => {
    const tenant_id = 'T4#2026-10-31T12';
    const rows = Array.from({ length: 12 }, (_, i) => {
      const created_at = `2026-10-31T12:00:${String(i).padStart(2, '0')}.000Z`;
      return { log_id: `o-${i}`, tenant_id, created_at, work_at: created_at, channel: 'slack' } as const;
    });
    await Promise.all(
      rows.map((row, i) => put(row, i % 2 === 0 ? { tenant_created_at: `${tenant_id}#${row.created_at}` } : {})),
    );
    for (pageSize of [1, undefined]) expectNewestFirst(await listed('created', { tenant_id }, 5), rows);
  });
});
