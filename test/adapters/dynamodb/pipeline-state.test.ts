import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toItem } from '../../../src/adapters/dynamodb/item.ts';
import { createNoticeMark } from '../../../src/adapters/dynamodb/notice-mark.ts';
import { countOpenBreakers } from '../../../src/adapters/dynamodb/open-breakers.ts';
import { createSweepLog, lastSweeps } from '../../../src/adapters/dynamodb/sweep-log.ts';
import { startTestDynamoDb } from '../../support/dynamodb.ts';
import { at, T0 } from '../../support/rows.ts';
import { createTables } from '../../support/tables.ts';

let dynamodb: Awaited<ReturnType<typeof startTestDynamoDb>>;
let table: string;
beforeAll(async () => {
  dynamodb = await startTestDynamoDb();
  table = (await createTables(dynamodb.client, 'state')).pipeline_state;
});
afterAll(() => dynamodb.stop());

const sweep = (run_id: string, startedMs: number, complete = true) => ({
  run_id,
  started_at: at(startedMs).toISOString(),
  ...{ duration_ms: 100, due: 30, dispatched: 20, skipped: 10, complete },
});

describe('the log of sweeps', () => {
  it('gives the last ones, newest first', async () => {
    const log = createSweepLog(dynamodb.client, table);
    for (const [id, ms] of [
      ['sweep-b', 2_000],
      ['sweep-c', 3_000],
      ['sweep-a', 1_000],
    ] as const) {
      await log.record(sweep(id, ms));
    }
    expect(await lastSweeps(dynamodb.client, table, 2)).toEqual([sweep('sweep-c', 3_000), sweep('sweep-b', 2_000)]);
  });

  it('adds up the parts of one that had to continue itself, which is complete with the last', async () => {
    const log = createSweepLog(dynamodb.client, table);
    await log.record(sweep('sweep-long', 9_000, false));
    expect(await lastSweeps(dynamodb.client, table, 1)).toEqual([sweep('sweep-long', 9_000, false)]);
    await log.record(sweep('sweep-long', 9_000));
    expect(await lastSweeps(dynamodb.client, table, 1)).toEqual([
      { ...sweep('sweep-long', 9_000), duration_ms: 200, due: 60, dispatched: 40, skipped: 20 },
    ]);
  });
});

describe('the mark of the notices', () => {
  it('is absent before the first, and then what was written last', async () => {
    const mark = createNoticeMark(dynamodb.client, table);
    expect(await mark.read()).toBeUndefined();
    await mark.write(at(1).toISOString());
    await mark.write(at(2).toISOString());
    expect(await mark.read()).toBe(at(2).toISOString());
  });
});

describe('the count of open breakers', () => {
  it('leaves out those that let notifications through, and what has expired', async () => {
    const breakers = [
      { id: 'slack#IC001', state: 'open' },
      { id: 'slack#IC002', state: 'open', expires_at: Math.floor(at(60_000).getTime() / 1000) },
      { id: 'slack#IC003', state: 'draining' },
      { id: 'email#-', state: 'half_open' },
      { id: 'teams#old', state: 'open', expires_at: Math.floor(at(-60_000).getTime() / 1000) },
    ];
    for (const breaker of breakers) {
      const Item = toItem({ kind: 'breaker', ...breaker });
      await dynamodb.client.send(new PutItemCommand({ TableName: table, Item }));
    }
    const open = await countOpenBreakers(dynamodb.client, table, T0);
    expect(open).toEqual({ email: 1, slack: 2, teams: 0, webhook: 0 });
  });
});
