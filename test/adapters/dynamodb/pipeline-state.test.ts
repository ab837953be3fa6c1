import { GetItemCommand, type UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBreakerStore } from '../../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { createRequestCounts } from '../../../src/adapters/dynamodb/intake/request-counts.ts';
import { createSweepLog, lastSweeps } from '../../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { createNoticeMark } from '../../../src/adapters/sns/death-notices.ts';
import type { Breaker } from '../../../src/core/breaker/breaker.ts';
import { openByChannel } from '../../../src/core/monitor/monitor-figures.ts';
import { startTestDynamoDb } from '../../support/dynamodb.ts';
import { at, iso, T0 } from '../../support/rows.ts';
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
  started_at: iso(startedMs),
  duration_ms: 100,
  due: 30,
  dispatched: 20,
  skipped: 10,
  complete,
});

describe('the log of sweeps', () => {
  it('lists the last sweeps, newest first', async () => {
    const log = createSweepLog(dynamodb.client, table);
    for (const [id, ms] of [
      ['sweep-b', 2_000],
      ['sweep-c', 3_000],
      ['sweep-a', 1_000],
    ] as const)
      await log.record(sweep(id, ms));
    expect(await lastSweeps(dynamodb.client, table, 2)).toEqual([sweep('sweep-c', 3_000), sweep('sweep-b', 2_000)]);
  });

  it('adds up the parts of a sweep that continued itself; the last part completes it', async () => {
    const log = createSweepLog(dynamodb.client, table);
    await log.record(sweep('sweep-long', 9_000, false));
    expect(await lastSweeps(dynamodb.client, table, 1)).toEqual([sweep('sweep-long', 9_000, false)]);
    await log.record(sweep('sweep-long', 9_000));
    expect(await lastSweeps(dynamodb.client, table, 1)).toEqual([
      { ...sweep('sweep-long', 9_000), duration_ms: 200, due: 60, dispatched: 40, skipped: 20 },
    ]);
  });
});

it('takes the slots of several breakers side by side, and leaves those of the others where one fails', async () => {
  const stored = { error_type: 'UNKNOWN', express_slots: 1, standard_slots: 1 };
  let [under_way, most] = [0, 0];
  const client = {
    async send({ input: { Key } }: UpdateItemCommand) {
      most = Math.max(most, ++under_way);
      await new Promise((resolve) => setTimeout(resolve, 20));
      under_way -= 1;
      if (Key?.['id']?.S === 'webhook#b') throw new Error('throttled');
      return { Attributes: toItem({ ...stored, id: Key?.['id']?.S }) };
    },
  };
  const store = createBreakerStore(client as never, table, () => T0);
  const slots = ['a', 'b', 'c'].map((name) => store.takeSlot(`webhook#${name}`, 'standard'));
  const [first, second, third] = await Promise.allSettled(slots);
  expect(first).toMatchObject({ value: { slot: 0, breaker: { id: 'webhook#a' } } });
  expect(second).toMatchObject({ status: 'rejected', reason: { message: 'throttled' } });
  expect(third).toMatchObject({ value: { slot: 0, breaker: { id: 'webhook#c' } } });
  expect(most).toBe(3);
});

it('the last express run is known once one has been recorded, and is no sweep', async () => {
  const log = createSweepLog(dynamodb.client, table);
  const sweeps = await lastSweeps(dynamodb.client, table, 9);
  expect(await log.lastExpress()).toBeUndefined();
  for (const ms of [1_000, 2_000]) await log.recordExpress(iso(ms));
  expect(await log.lastExpress()).toBe(iso(2_000));
  expect(await lastSweeps(dynamodb.client, table, 9)).toEqual(sweeps);
});

it('the last completed sweep is the newest that was completed and took everything', async () => {
  const log = createSweepLog(dynamodb.client, table);
  const everything = { everything: true };
  await log.record({ ...sweep('sweep-whole', 20_000), ...everything });
  await log.record({ ...sweep('sweep-under-way', 21_000, false), ...everything });
  await log.record(sweep('manual-part', 22_000));
  expect(await log.lastCompleted()).toBe(iso(20_000));
  await log.record({ ...sweep('sweep-under-way', 21_000), ...everything });
  expect(await log.lastCompleted()).toBe(iso(21_000));
});

it('the mark of the notices is missing before the first notice, and then has the last value written', async () => {
  const mark = createNoticeMark(dynamodb.client, table);
  expect(await mark.read()).toBeUndefined();
  const behind = { 'dead#info#0': { from: iso(1), after: { log_id: { S: 'a' } } } };
  for (const written of [{ until: iso(1), behind }, { until: iso(2) }]) {
    await mark.write(written);
    expect(await mark.read()).toEqual(written);
  }
});

it('the counts of requests add up the requests of all instances per key and second, and expire minutes later', async () => {
  const [one, other] = [0, 1].map(() => createRequestCounts(dynamodb.client, table));
  const second = Math.floor(T0.getTime() / 1000);
  expect(await one?.add('key-1', second, 4)).toBe(4);
  expect(await other?.add('key-1', second, 3)).toBe(7);
  expect(await other?.add('key-2', second, 1)).toBe(1);
  expect(await one?.add('key-1', second + 1, 2)).toBe(2);
  // Each key has a partition of its own.
  const Key = { kind: { S: 'rate#key-1' }, id: { S: String(second) } };
  const { Item } = await dynamodb.client.send(new GetItemCommand({ TableName: table, Key }));
  expect(Item).toEqual({ ...Key, requests: { N: '7' }, expires_at: { N: String(second + 300) } });
});

it('the count of open breakers leaves out breakers that let notifications through, and expired ones', async () => {
  const line = { from: iso(), slots: 0 };
  const breaker = (id: string, state: Breaker['state'], drained_at?: Date): Breaker => ({
    id,
    state,
    version: 1,
    since: iso(),
    down_since: iso(),
    per_second: 20,
    slots_last_interval: 0,
    error_type: 'SERVER_OVERLOAD',
    interval_ms: 1_000,
    probe_at: iso(),
    slots_before: 0,
    lines: { express: line, standard: line },
    ...(drained_at && { drained_at: drained_at.toISOString() }),
  });
  const store = (ms: number) => createBreakerStore(dynamodb.client, table, () => at(ms));
  for (const one of [
    breaker('slack#IC001', 'open'),
    breaker('slack#IC002', 'open'),
    breaker('slack#IC003', 'draining', at(60_000)),
    breaker('email#ses', 'open'),
    breaker('teams#IC004', 'closed'),
  ])
    await store(0).write(one);
  await store(-30 * 86_400_000).write(breaker('teams#old', 'open'));
  expect(openByChannel(await store(0).list(), T0)).toEqual({ email: 1, slack: 2, teams: 0, webhook: 0 });
  // A worker knows an expired breaker that the table still has: its next version can be written.
  const old = await store(0).read('teams#old', { newest: true });
  expect((await store(0).first(100)).breakers).toContainEqual(old);
  expect(await store(0).write({ ...breaker('teams#old', 'open'), version: (old?.version ?? 0) + 1 })).toBe(true);
  expect(openByChannel(await store(0).list(), T0)).toMatchObject({ teams: 1 });
});
