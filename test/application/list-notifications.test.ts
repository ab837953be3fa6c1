import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { fromListCursor, toListCursor } from '../../src/application/cursor.ts';
import type { OperatorDeps } from '../../src/application/deps.ts';
import { findNotifications } from '../../src/application/notifications.ts';
import { historyKeys } from '../../src/core/model/history-index.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { baseShards } from '../support/index-shards.ts';
import { dueRow, T0 } from '../support/rows.ts';
import { createTables } from '../support/tables.ts';

describe('the cursor of a list', () => {
  const uuid = '0b1c7c52-8c5d-4c54-9a70-6a6d0f1a9c11';
  const from = '2026-11-01T09:00:00.000Z';
  const time = '2026-11-02T10:11:12.345Z';

  it.each([
    ['of a tenant', { kind: 'created', from, place: { time, run: '63', log_id: uuid } }, 70],
    ['over tenants', { kind: 'created', from, place: { time, run: `63.${uuid}`, log_id: uuid } }, 100],
    ['by tenant', { kind: 'by_tenant', from, to: time, place: { time, run: `63.${uuid}`, log_id: uuid } }, 110],
    ['of the dead', { kind: 'dead', from, place: { time, run: 'important.63', log_id: uuid } }, 80],
    ['at the end of a day', { kind: 'created', from, place: { time, run: '~', log_id: '~' } }, 30],
  ] as const)('%s is short, and needs quotes neither in a URL nor in a shell', (_, cursor, most) => {
    const text = toListCursor(cursor);
    expect(text.length).toBeLessThanOrEqual(most);
    expect(text).toMatch(/^\w[\w.~-]+$/);
    expect(fromListCursor(text)).toEqual(cursor);
  });

  it.each([
    ['a dot in the tenant', '1.a.b', 'l'],
    ['other characters in the log_id', '1.T', '$(id) ; "é"'],
    ['a separator in the tenant', '1.T#2', 'l#1'],
  ])('keeps %s', (_, run, log_id) => {
    const cursor = { kind: 'created', from, place: { time, run, log_id } } as const;
    expect(toListCursor(cursor)).toMatch(/^[\w-]+$/);
    expect(fromListCursor(toListCursor(cursor))).toEqual(cursor);
  });

  it.each([
    // As lists made them before.
    toCursorOfBefore({
      source: 'created',
      period: { from, to: time },
      after: { partition: 'p', sort: 's', log_id: 'l' },
    }),
    'none',
    '....',
    'c.X.Y.1.l',
    'c.lgdq8fls.lgdq8fls.',
    'z.lgdq8fls.lgdq8fls.1.l',
    'c.zzzzzzzzzz.lgdq8fls.1.l',
  ])('refuses %s, and says what to do', (text) => {
    expect(() => fromListCursor(text)).toThrow(
      expect.objectContaining({ extras: { errors: [expect.objectContaining({ path: 'cursor' })] } }),
    );
  });
});

const toCursorOfBefore = (place: object): string => Buffer.from(JSON.stringify(place)).toString('base64url');

describe('a day on which more tenants sent than can be merged', () => {
  let dynamodb: TestDynamoDb;
  let deps: OperatorDeps;
  const TENANTS = 1_100;

  beforeAll(async () => {
    dynamodb = await startTestDynamoDb();
    const tables = await createTables(dynamodb.client, 'crowd');
    const puts = Array.from({ length: TENANTS }, (_, i) => {
      const row = dueRow({ log_id: `l-${i}`, tenant_id: `T-${i}` });
      const created = new Date(T0.getTime() - i);
      const Item = toItem({ ...row, created_at: created.toISOString(), ...historyKeys(row, created) });
      return { PutRequest: { Item } };
    });
    for (let i = 0; i < puts.length; i += 25) {
      const RequestItems = { [tables.notification_log]: puts.slice(i, i + 25) };
      await dynamodb.client.send(new BatchWriteItemCommand({ RequestItems }));
    }
    dynamodb.client.middlewareStack.add(
      (next, { commandName }) =>
        (args) =>
          next(commandName === 'QueryCommand' && pageOfOne ? { ...args, input: { ...args.input, Limit: 1 } } : args),
      { step: 'initialize' },
    );
    const deployment = { tables };
    deps = { dynamodb: dynamodb.client, deployment, clock: () => T0, shards: baseShards } as unknown as OperatorDeps;
  });
  afterAll(() => dynamodb?.stop());
  let pageOfOne = false;

  async function all(limit: number) {
    const found = new Set<unknown>();
    let by_tenant: true | undefined;
    let cursor: string | null = null;
    do {
      const page = await findNotifications({ limit, ...(cursor !== null && { cursor }) }, deps);
      for (const { log_id } of page.notifications) found.add(log_id);
      cursor = page.next_cursor;
      by_tenant = page.by_tenant;
      pageOfOne = false;
    } while (cursor !== null);
    return { found: found.size, by_tenant };
  }

  it('is in the order of time while pages of the index find the tenants', async () => {
    expect(await all(200)).toEqual({ found: TENANTS, by_tenant: undefined });
    const { notifications } = await findNotifications({ limit: 3 }, deps);
    expect(notifications.map(({ log_id }) => log_id)).toEqual(['l-0', 'l-1', 'l-2']);
  });

  it('is listed tenant by tenant beyond that, and says so', async () => {
    pageOfOne = true;
    expect(await all(200)).toEqual({ found: TENANTS, by_tenant: true });
  });
});
