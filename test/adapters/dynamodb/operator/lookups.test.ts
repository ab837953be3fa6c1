import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLookups, type Lookups } from '../../../../src/adapters/dynamodb/operator/index-queries.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { historyKeys } from '../../../../src/core/model/history-index.ts';
import type { NotificationRow } from '../../../../src/core/model/notification.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { dueRow } from '../../../support/rows.ts';
import { createTables } from '../../../support/tables.ts';

const DAY_1 = '2026-11-01T09:00:00.000Z';
const DAY_2 = '2026-11-02T09:00:00.000Z';
const BOTH_DAYS = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T23:59:59.999Z' };

interface Stored extends Partial<NotificationRow> {
  readonly log_id: string;
  readonly created_at: string;
  readonly scheduled_at?: string;
  readonly recipient_hash?: string;
}

/** Finished rows are not in the work index. */
const finished = { send_status: 'SUCCESS', work_queue: undefined, work_at: undefined } as const;
const rows: readonly Stored[] = [
  {
    log_id: 'a',
    tenant_id: 'T1',
    notification_id: 'N1',
    created_at: DAY_1,
    ...finished,
    sent_at: '2026-11-01T09:00:05.000Z',
    send_attempts: 1,
  },
  {
    log_id: 'b',
    tenant_id: 'T1',
    notification_id: 'N1',
    created_at: DAY_2,
    ...finished,
    sent_at: '2026-11-02T10:00:00.000Z',
    send_attempts: 3,
  },
  {
    log_id: 'c',
    tenant_id: 'T2',
    notification_id: 'N2',
    created_at: DAY_1,
    channel: 'email',
    recipient_hash: 'h1',
    work_at: DAY_1,
  },
  {
    log_id: 'd',
    tenant_id: 'T2',
    created_at: DAY_2,
    priority: 'urgent',
    scheduled_at: DAY_2,
    work_queue: 'due#urgent#3',
    work_at: DAY_2,
  },
  {
    log_id: 'e',
    tenant_id: 'T1',
    created_at: DAY_2,
    send_status: 'FAILED',
    work_queue: 'dead#normal#1',
    work_at: DAY_2,
  },
] as readonly Stored[];

describe('the table document’s lookups', () => {
  let dynamodb: TestDynamoDb;
  let lookups: Lookups;

  beforeAll(async () => {
    dynamodb = await startTestDynamoDb();
    const { notification_log } = await createTables(dynamodb.client, 'lookups');
    for (const row of rows) await put(dynamodb.client, notification_log, row);
    lookups = createLookups(dynamodb.client, notification_log);
  });
  afterAll(() => dynamodb?.stop());

  const ids = async (found: AsyncGenerator<Readonly<Record<string, unknown>>>) => {
    const log_ids: unknown[] = [];
    for await (const { log_id } of found) log_ids.push(log_id);
    return log_ids.sort();
  };

  it('find the copies of one notification', async () => {
    expect(await ids(lookups.byNotification('T1', 'N1'))).toEqual(['a', 'b']);
    expect(await ids(lookups.byNotification('T1', 'none'))).toEqual([]);
    expect(await ids(lookups.byNotification('T2', 'N1'))).toEqual([]);
  });

  it.each([
    ['a tenant’s', { tenant_id: 'T1' }, ['a', 'b', 'e']],
    ['a tenant’s in one status', { tenant_id: 'T1', send_status: 'SUCCESS' }, ['a', 'b']],
    ['those of one type', { channel: 'email' }, ['c']],
    ['those sent in a time', { sent_at: { from: DAY_2, to: BOTH_DAYS.to } }, ['b']],
    [
      'those of a status and a number of attempts',
      { send_status: 'SUCCESS', send_attempts: { least: 2, most: 9 } },
      ['b'],
    ],
    ['those scheduled in a time', { scheduled_at: { from: DAY_2, to: DAY_2 } }, ['d']],
    ['those to one recipient, without decrypting any', { recipient_hash: 'h1' }, ['c']],
    ['those of a priority', { priority: 'urgent' }, ['d']],
    ['all', {}, ['a', 'b', 'c', 'd', 'e']],
  ] as const)('find %s', async (_, filter, expected) => {
    expect(await ids(lookups.history(BOTH_DAYS, filter))).toEqual(expected);
  });

  it('know the type and priority of a row that its writer delivered by itself', async () => {
    const created_at = '2026-10-05T00:00:00.000Z';
    const theirs = {
      log_id: 'theirs',
      tenant_id: 'T3',
      notification_type: 'SLACK',
      priority_level: 'HIGH',
      send_status: 'SUCCESS',
    };
    const Item = toItem({ ...theirs, created_at, ...historyKeys(theirs, new Date(created_at)) });
    await dynamodb.client.send(new PutItemCommand({ TableName: 'NotificationLog-lookups', Item }));
    const day = { from: created_at, to: created_at };
    expect(await ids(lookups.history(day, { channel: 'slack', priority: 'important' }))).toEqual(['theirs']);
    expect(await ids(lookups.history(day, { channel: 'teams' }))).toEqual([]);
    expect(await ids(lookups.history(day, { priority: 'info' }))).toEqual([]);
  });

  it('tell times within a day apart', async () => {
    expect(await ids(lookups.history({ from: '2026-11-01T09:00:00.001Z', to: BOTH_DAYS.to }, {}))).toEqual([
      'b',
      'd',
      'e',
    ]);
  });

  it('look at the days asked for only', async () => {
    expect(await ids(lookups.history({ from: DAY_1, to: DAY_1 }, {}))).toEqual(['a', 'c']);
  });

  it.each([
    ['due', {}, ['c', 'd']],
    ['due', { priority: 'urgent' }, ['d']],
    ['due', { channel: 'email' }, ['c']],
    ['dead', {}, ['e']],
    ['dead', { tenant_id: 'T2' }, []],
  ] as const)('find what is %s, with %o', async (state, filter, expected) => {
    expect(await ids(lookups.work(state, BOTH_DAYS, filter))).toEqual(expected);
  });
});

async function put(client: DynamoDBClient, TableName: string, { created_at, ...changes }: Stored): Promise<void> {
  const row = dueRow(changes);
  const history = historyKeys(row, new Date(created_at));
  await client.send(new PutItemCommand({ TableName, Item: toItem({ ...row, ...history, created_at }) }));
}
