import { type DynamoDBClient, PutItemCommand, type QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCopies } from '../../../../src/adapters/dynamodb/operator/notification-copies.ts';
import {
  createOperatorSearch,
  ForeignPositionError,
  type OperatorSearch,
} from '../../../../src/adapters/dynamodb/operator/operator-search.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { historyKeys } from '../../../../src/core/model/history-index.ts';
import type { ForeignRow, NotificationRow } from '../../../../src/core/model/notification.ts';
import { ALWAYS } from '../../../../src/core/operator/search-filter.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { baseShards } from '../../../support/index-shards.ts';
import { dueRow } from '../../../support/rows.ts';
import { createTables } from '../../../support/tables.ts';

const DAY_1 = '2026-11-01T09:00:00.000Z';
const DAY_2 = '2026-11-02T09:00:00.000Z';
const NOW = new Date('2026-11-03T00:00:00.000Z');
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
  let search: OperatorSearch;
  let table: string;

  beforeAll(async () => {
    dynamodb = await startTestDynamoDb();
    table = (await createTables(dynamodb.client, 'lookups')).notification_log;
    for (const row of rows) await put(dynamodb.client, table, row);
    search = createOperatorSearch(dynamodb.client, table, () => NOW, { consistent: false, shards: baseShards });
  });
  afterAll(() => dynamodb?.stop());

  const ids = async (parts: AsyncIterable<{ readonly found: readonly { readonly row: ForeignRow }[] }>) => {
    const log_ids: unknown[] = [];
    for await (const { found } of parts) log_ids.push(...found.map(({ row }) => row['log_id']));
    return log_ids.sort();
  };
  async function* copies(tenant_id: string, notification_id: string) {
    const { work: shards } = await baseShards();
    yield* readCopies(dynamodb.client, table, { tenant_id, notification_id, shards });
  }

  it('find the copies of one notification', async () => {
    expect(await ids(copies('T1', 'N1'))).toEqual(['a', 'b']);
    expect(await ids(copies('T1', 'none'))).toEqual([]);
    expect(await ids(copies('T2', 'N1'))).toEqual([]);
  });

  /** Forms in which writers write a time (his-notification-log-table.md, sample data, and ISO-8601 with zones). */
  const FORMS: Readonly<Record<string, (time: Date) => string>> = {
    ours: (time) => time.toISOString(),
    'the document’s': (time) => time.toISOString().slice(0, 19).replace('T', ' '),
    'without seconds': (time) => time.toISOString().slice(0, 16),
    'of Tokyo': (time) => `${new Date(time.getTime() + 9 * 3_600_000).toISOString().slice(0, -1)}+09:00`,
    'of Kiritimati': (time) => `${new Date(time.getTime() + 14 * 3_600_000).toISOString().slice(0, 16)}+14:00`,
    'of Niue': (time) => `${new Date(time.getTime() - 11 * 3_600_000).toISOString().slice(0, 19)}-1100`,
  };

  it.each(Object.entries(FORMS))('find by a time in any form of writers: %s', async (form, write) => {
    const { notification_log } = await createTables(dynamodb.client, `times-${Object.keys(FORMS).indexOf(form)}`);
    const hours = [0, 1, 9, 13, 23, 24, 33, 47, 48, 72];
    const scheduled = hours.map((hour) => new Date(Date.parse('2026-11-01T00:00:00Z') + hour * 3_600_000));
    for (const [n, time] of scheduled.entries()) {
      const row = { log_id: `${form}-${n}`, tenant_id: 'T1', created_at: DAY_1, scheduled_at: write(time) } as Stored;
      await put(dynamodb.client, notification_log, row);
    }
    const found = createOperatorSearch(dynamodb.client, notification_log, () => NOW, {
      consistent: false,
      shards: baseShards,
    });
    const periods = [
      { from: '2026-11-01T09:00:00.000Z', to: '2026-11-02T00:00:00.000Z' },
      { from: '2026-11-02T09:00:00.000Z', to: ALWAYS.to },
      { from: ALWAYS.from, to: '2026-11-01T13:00:00.000Z' },
      BOTH_DAYS,
    ];
    for (const period of periods) {
      const expected = scheduled.flatMap((time, n) =>
        time.toISOString() >= period.from && time.toISOString() <= period.to ? [`${form}-${n}`] : [],
      );
      expect(await ids(found.created(BOTH_DAYS, { scheduled: period }))).toEqual(expected.sort());
      expect(expected.length).toBeGreaterThan(0);
    }
  });

  it.each([
    ['a tenant’s', { tenant_id: 'T1' }, ['a', 'b', 'e']],
    ['a tenant’s in one status', { tenant_id: 'T1', send_status: 'SUCCESS' }, ['a', 'b']],
    ['those of one type', { channel: 'email' }, ['c']],
    ['those sent in a time', { sent: { from: DAY_2, to: BOTH_DAYS.to } }, ['b']],
    [
      'those of a status and a number of attempts',
      { send_status: 'SUCCESS', send_attempts: { least: 2, most: 9 } },
      ['b'],
    ],
    ['those scheduled in a time', { scheduled: { from: DAY_2, to: DAY_2 } }, ['d']],
    ['those to one recipient, without decrypting any recipient', { recipient_hash: 'h1' }, ['c']],
    ['those of a priority', { priority: 'urgent' }, ['d']],
    ['those of a priority scheduled in a time', { priority: 'urgent', scheduled: { from: DAY_2, to: DAY_2 } }, ['d']],
    ['all', {}, ['a', 'b', 'c', 'd', 'e']],
  ] as const)('find %s', async (_, filter, expected) => {
    expect(await ids(search.created(BOTH_DAYS, filter))).toEqual(expected);
  });

  it('find a row that its writer delivered by its type and priority', async () => {
    const created_at = '2026-10-05T00:00:00.000Z';
    const theirs = {
      log_id: 'theirs',
      tenant_id: 'T3',
      notification_type: 'SLACK',
      priority_level: 'HIGH',
      send_status: 'SUCCESS',
    };
    const Item = toItem({ ...theirs, created_at, ...historyKeys(theirs, new Date(created_at)) });
    await dynamodb.client.send(new PutItemCommand({ TableName: table, Item }));
    const day = { from: created_at, to: created_at };
    expect(await ids(search.created(day, { channel: 'slack', priority: 'important' }))).toEqual(['theirs']);
    expect(await ids(search.created(day, { channel: 'teams' }))).toEqual([]);
    expect(await ids(search.created(day, { priority: 'info' }))).toEqual([]);
  });

  it('distinguish times within a day', async () => {
    expect(await ids(search.created({ from: '2026-11-01T09:00:00.001Z', to: BOTH_DAYS.to }, {}))).toEqual([
      'b',
      'd',
      'e',
    ]);
  });

  it('read no further back from the end of a period than rows are kept, however long it is', async () => {
    const asked: (string | undefined)[] = [];
    const send = async ({ input }: QueryCommand) => {
      asked.push(input.ExpressionAttributeValues?.[':bucket']?.S);
      return { Items: [] };
    };
    const options = { consistent: false, shards: async () => ({ history: 1, work: 1 }) };
    const counting = createOperatorSearch({ send } as unknown as DynamoDBClient, table, () => NOW, options);
    const firstYear = '0000-01-01T00:00:00.000Z';
    for await (const _ of counting.created({ from: firstYear, to: ALWAYS.to }, {}));
    expect([asked[0], asked.at(-1), asked.length]).toEqual(['2026-11-04#0', '2024-11-02#0', 733]);
    asked.length = 0;
    const long_ago = { from: '2019-12-31T00:00:00.000Z', to: '2020-01-01T00:00:00.000Z' };
    for await (const _ of counting.created(long_ago, {}));
    expect(asked).toEqual(['2020-01-01#0', '2019-12-31#0']);
    asked.length = 0;
    const after = { partition: '2024-11-03#0', sort: 's', log_id: 'l' };
    for await (const _ of counting.created({ from: firstYear, to: ALWAYS.to }, {}, after));
    expect(asked).toEqual(['2024-11-03#0', '2024-11-02#0']);
  });

  it.each(['2026-11-03#0', '2026-10-31#0', '2026-11-01#99', '2026-11-01', '2026-11-01#00', 'due#normal#1'])(
    'refuse a position in %s, which the search does not read',
    async (partition) => {
      const after = { partition, sort: 'T1#2026-11-01T09:00:00.000Z', log_id: 'a' };
      await expect(ids(search.created(BOTH_DAYS, {}, after))).rejects.toThrow(ForeignPositionError);
    },
  );

  it('read only the days of the period', async () => {
    expect(await ids(search.created({ from: DAY_1, to: DAY_1 }, {}))).toEqual(['a', 'c']);
  });

  it.each([
    ['due', {}, ['c', 'd']],
    ['due', { priority: 'urgent' }, ['d']],
    ['due', { channel: 'email' }, ['c']],
    ['dead', {}, ['e']],
    ['dead', { tenant_id: 'T2' }, []],
  ] as const)('find what is %s, with %o', async (state, filter, expected) => {
    expect(await ids(search.work(state, BOTH_DAYS, filter))).toEqual(expected);
  });
});

async function put(client: DynamoDBClient, TableName: string, { created_at, ...changes }: Stored): Promise<void> {
  const row = dueRow(changes);
  const history = historyKeys(row, new Date(created_at));
  await client.send(new PutItemCommand({ TableName, Item: toItem({ ...row, ...history, created_at }) }));
}
