import { type AttributeValue, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createContentStore, createRecordStore } from '../../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createSuccessorStore } from '../../../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIndexStore } from '../../../../src/adapters/dynamodb/indexing/index-store.ts';
import { createIntakeStore } from '../../../../src/adapters/dynamodb/intake/intake-store.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { planClaim } from '../../../../src/core/delivery/claim-plan.ts';
import { failOver } from '../../../../src/core/delivery/failover.ts';
import { keptAs } from '../../../../src/core/delivery/retry-record.ts';
import { failedBecause } from '../../../../src/core/delivery/verdict.ts';
import { indexRow } from '../../../../src/core/indexing/index-row.ts';
import { accept } from '../../../../src/core/intake/accept.ts';
import { type NotificationRow, UPDATED_BY } from '../../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../../src/core/model/retry-policy.ts';
import { type RowChange, withChange } from '../../../../src/core/model/row-change.ts';
import { choose } from '../../../../src/core/operator/operations/choose.ts';
import { NOTHING, type Operation } from '../../../../src/core/operator/operations/operation.ts';
import { retryNow } from '../../../../src/core/operator/retry-now.ts';
import { recordFaults } from '../../../../src/core/verify/rules/record-rules.ts';
import { firstAttempt } from '../../../../src/core/verify/rules/row-rules.ts';
import { intakeRequest, memoryIntake } from '../../../support/api/intake.ts';
import { retryRecord } from '../../../support/delivering.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../../../support/dynamodb.ts';
import { at, dueRow, messageFor, received } from '../../../support/rows.ts';
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
  const sealer = sealerOn(client, tables);
  const on = { client, tables, sealer, hashKey: async () => 'key' };
  return {
    sealer,
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

describe('a row that is redriven an hour before its end', () => {
  const early = at(-730 * DAY * 1000 + 3_600_000);
  const MONTH = 30 * DAY;
  const inAMonth = Math.ceil(NOW.getTime() / 1000) + MONTH;
  const dead = (changes: Partial<NotificationRow> = {}) =>
    dueRow({
      send_status: 'FAILED',
      failure_reason: 'MAX_RETRIES',
      work_queue: 'dead#normal#0',
      work_at: early.toISOString(),
      dead_message_id: 'letter',
      dead_run_id: 'sweep-1',
      expires_at: Math.floor(NOW.getTime() / 1000) + 3_600,
      ...changes,
    });
  const stopped = () => {
    const { work_queue: _, ...row } = dead({ failure_reason: 'CANCELLED', updated_by: UPDATED_BY });
    return row;
  };
  const retried = async (row: NotificationRow, redrive: boolean) => {
    const changes: RowChange[] = [];
    const change = async (_: NotificationRow, changed: RowChange) => changes.push(changed) > 0;
    const rows = { read: async () => row, change };
    await retryNow([row.log_id], 'manual-1', { rows, send: async () => [], policy, clock: () => NOW, redrive });
    return changes[0];
  };
  const REPLAY: Operation = {
    ...{ operation_id: 'op-1', version: 1, kind: 'redrive', status: 'running', filter: {}, asked: {}, rate: 1 },
    ...{ include_stopped: false, cut_off: NOW.toISOString(), created_by: 'ann', created_at: NOW.toISOString() },
    ...{ checkpoint: { source: 'created' }, sample: [], progress: NOTHING },
  };
  const WAYS = [
    [
      'from the SQS console, and by ops dlq redrive',
      async (row) => {
        const redriven = received(messageFor(row), { message_id: 'new', sent_at: NOW });
        const plan = planClaim(row, redriven, { now: NOW, until: at(60_000).toISOString(), by: 'c' }, policy);
        return plan.do === 'claim' ? plan.change : undefined;
      },
    ],
    ['by ops retry --redrive', (row) => retried(row, true)],
    ['by ops retry or the API, after it was stopped', () => retried(stopped(), false)],
    ['by a replay', async (row) => choose({ ...row }, REPLAY, NOW, policy).change],
  ] as const satisfies readonly (readonly [string, (row: NotificationRow) => Promise<RowChange | undefined>])[];

  it.each(WAYS)('%s: it lasts for a month, by the same write', async (_, redrive) => {
    expect((await redrive(dead()))?.set).toMatchObject({ redrive_count: 1, expires_at: inAMonth });
  });

  it.each(WAYS)('%s: its end stays where it is far', async (_, redrive) => {
    if (redrive.length === 0) return;
    const change = await redrive(dead({ expires_at: inAMonth }));
    expect(change?.set).toMatchObject({ redrive_count: 1 });
    expect(change?.set).not.toHaveProperty('expires_at');
  });

  it('is followed by its content at the next attempt, by one write, and by the records that it gets then', async () => {
    const { deps } = memoryIntake();
    const { log_id } = await accept(intakeRequest('old'), { ...deps, store: stores.intake, clock: () => early });
    const change = await retried(dead({ log_id }), true);
    const row = withChange(dead({ log_id }), change ?? { set: {} });
    const contents = createContentStore(dynamodb.client, tables.notification_content, stores.sealer);
    const writes: unknown[] = [];
    const note = (next: (args: never) => Promise<unknown>, { commandName }: { commandName?: string }) => {
      if (commandName === 'UpdateItemCommand') writes.push(commandName);
      return next;
    };
    dynamodb.client.middlewareStack.add(note as never, { step: 'initialize', name: 'note' });
    await contents.read({ log_id, tenant_id: row.tenant_id });
    await contents.read(dead({ log_id }));
    expect(writes).toEqual([]);
    for (let attempts = 0; attempts < 3; attempts++) expect((await contents.read(row)).body).toBeDefined();
    expect(writes).toHaveLength(1);
    dynamodb.client.middlewareStack.remove('note');
    expect((await expiryIn(tables.notification_content))[log_id]).toEqual({ N: String(inAMonth) });
    expect(keptAs(row)).toEqual({ expires_at: inAMonth });
  });

  it('lacks the records of its former attempts in the end, which verify does not miss', () => {
    const records = [{ retry_attempt: 6, retry_status: 'FAILED' }];
    const row = { created_by: 'intake-api', last_attempt: 6, first_attempt_at: NOW.toISOString() };
    const faults = (more: object) => recordFaults({ ...row, ...more }, records, firstAttempt({ ...row, ...more }));
    expect(faults({ expires_at: inAMonth })).toEqual([]);
    expect(faults({ expires_at: inAMonth + 700 * DAY })).toHaveLength(6);
  });
});

it('content of a life before, as a read may still see it, is read again before it is sent', async () => {
  const { client } = dynamodb;
  const before = { log_id: 'corrected', tenant_id: 'tenant-1', expires_at: 4_000_000_000, sequence: '1' };
  const said = { recipient: 'before@example.com', body: 'x', format: 'PLAIN' } as const;
  await stores.index.putContent(before, said);
  const { Items = [] } = await client.send(
    new ScanCommand({ TableName: tables.notification_content, ConsistentRead: true }),
  );
  const stale = Items.filter(({ log_id }) => log_id?.S === 'corrected');
  await stores.index.putContent({ ...before, sequence: '2' }, { ...said, recipient: 'now@example.com' });
  const behind = { ...client, send: (command: object) => sendBehind(command) } as unknown as typeof client;
  const sendBehind = (command: object) =>
    command.constructor.name === 'BatchGetItemCommand'
      ? Promise.resolve({ Responses: { [tables.notification_content]: stale }, UnprocessedKeys: {} })
      : client.send(command as ScanCommand);
  const contents = createContentStore(behind, tables.notification_content, stores.sealer);
  const row = { log_id: 'corrected', tenant_id: 'tenant-1' };
  expect(await contents.read(row)).toMatchObject({ recipient: 'before@example.com' });
  expect(await contents.read({ ...row, life: 2 })).toMatchObject({ recipient: 'now@example.com' });
});
