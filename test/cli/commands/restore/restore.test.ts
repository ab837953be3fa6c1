import { DeleteItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { contentItem } from '../../../../src/adapters/dynamodb/delivery/content-items.ts';
import { createIntakeStore } from '../../../../src/adapters/dynamodb/intake/intake-store.ts';
import { toForeignRow, toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { recipientHash } from '../../../../src/adapters/signing/hashed-ids.ts';
import { accept } from '../../../../src/core/intake/accept.ts';
import type { ForeignRow } from '../../../../src/core/model/notification.ts';
import type { RestoreState } from '../../../../src/core/restore/restore-state.ts';
import { intakeRequest, memoryIntake } from '../../../support/api/intake.ts';
import { deadRow, HASH_KEY, type Operations, startOperations, storedRow } from '../../../support/cli/operations.ts';
import { retryRecord } from '../../../support/delivering.ts';
import { createTables, type TableNames } from '../../../support/tables.ts';

const HOUR = 3_600_000;
const NOW = Date.now();
const RESTORED_TO = new Date(NOW - HOUR).toISOString();
const before = (ms: number) => new Date(NOW - ms).toISOString();

let ops: Operations;
/** Tables as a restoration makes them. */
let copies: TableNames;
beforeAll(async () => {
  ops = await startOperations();
  copies = await createTables(ops.dynamodb, 'restored');
}, 60_000);
afterAll(() => ops?.stop());

const three = (tables: TableNames | Operations['deployment']['tables']) =>
  [
    [tables.notification_log, ['log_id']],
    [tables.notification_content, ['log_id']],
    [tables.notification_retry_log, ['original_log_id', 'retry_attempt']],
  ] as const;
const everyItem = async (TableName: string) => (await ops.dynamodb.send(new ScanCommand({ TableName }))).Items ?? [];
const put = (TableName: string, ...items: object[]) =>
  Promise.all(items.map((item) => ops.dynamodb.send(new PutItemCommand({ TableName, Item: toItem(item) }))));
const stored = async (TableName: string): Promise<ForeignRow[]> =>
  (await everyItem(TableName)).map(toForeignRow).sort((a, b) => String(a['log_id']).localeCompare(String(b['log_id'])));

beforeEach(async () => {
  for (const [TableName, keys] of [...three(ops.tables), ...three(copies)])
    for (const item of await everyItem(TableName)) {
      const Key = Object.fromEntries(keys.map((name) => [name, item[name] ?? { S: '' }]));
      await ops.dynamodb.send(new DeleteItemCommand({ TableName, Key }));
    }
});

const row = (log_id: string, changes: ForeignRow = {}) =>
  storedRow(log_id, {
    updated_by: 'notification-retry',
    created_at: before(2 * HOUR),
    work_at: before(HOUR),
    ...changes,
  });

async function content(log_id: string, changes: ForeignRow = {}) {
  const sealer = ops.deployment.sealer(ops.dynamodb);
  const words = { recipient: 'https://a.example/hook', body: 'words', format: 'PLAIN' } as const;
  const item = await contentItem(sealer, { log_id, tenant_id: 'tenant-1', expires_at: NOW / 1000 + 86_400 }, words);
  return { ...toForeignRow(item), ...changes };
}

const record = (original_log_id: string, retry_attempt: number, changes: object = {}) => ({
  ...retryRecord({ original_log_id, retry_attempt, retry_log_id: `${original_log_id}#${retry_attempt}` }),
  retry_at: before(HOUR / 2),
  ...changes,
});

const LOG = ['--log', 'NotificationLog-restored'];
const CONTENT = ['--content', 'NotificationContent-restored'];
const RECORDS = ['--records', 'NotificationRetryLog-restored'];

type Answer = Pick<RestoreState, 'rows' | 'records' | 'contents' | 'asked' | 'asked_in_all' | 'records_lost'> & {
  readonly verified: { readonly holds: boolean; readonly violations: readonly object[] };
};
async function restore(...args: string[]): Promise<Answer & { code: number }> {
  const all = ['restore', ...args, '--restored-to', RESTORED_TO, '--local', '--json'];
  let passed = 0;
  const pause = async (ms: number) => {
    passed += ms;
  };
  const clock = () => new Date(Date.now() + passed);
  const { code, out, err } = await ops.run(args.includes('--dry-run') ? all : [...all, '--yes'], { clock, pause });
  if (out === '') throw new Error(err);
  return { code, ...JSON.parse(out) };
}

/** What had become of them when the log was lost. */
async function lose() {
  const rows = [row('delivered'), row('failed'), row('untouched'), row('cancelled'), row('erased'), row('there')];
  await put(copies.notification_log, ...rows, deadRow('dead', { ...KEPT, dead_sent_at: before(2 * HOUR) }));
  await put(ops.tables.notification_log, row('there', { send_status: 'RETRY', error_message: 'newer' }));
  for (const { log_id } of [...rows, { log_id: 'dead' }]) {
    await put(ops.tables.notification_content, await content(log_id));
    await put(ops.tables.notification_retry_log, record(log_id, 0, { retry_at: before(2 * HOUR) }));
  }
  const nothing = { log_id: 'erased', tenant_id: 'tenant-1', erased_at: before(HOUR / 3) };
  await put(ops.tables.notification_content, nothing);
  await put(
    ops.tables.notification_retry_log,
    record('delivered', 1, { retry_status: 'SUCCESS' }),
    record('failed', 1, { error_type: 'NETWORK_TIMEOUT', next_retry_at: new Date(NOW + HOUR).toISOString() }),
  );
  const at = before(HOUR / 2);
  const act = { at, who: 'mori', role: 'operator', what: 'cancel', on: ['cancelled'], targets: 1, request_id: 'r' };
  await put(ops.tables.audit, {
    ...act,
    bucket: at.slice(0, 10),
    item: `${at}#1`,
    audit_id: '1',
    result: { cancelled: 1 },
  });
}
const KEPT = { updated_by: 'notification-retry', created_at: before(2 * HOUR), last_attempt: 0, send_attempts: 1 };

it('fills the log by everything that survived it, once, and proves it', async () => {
  await lose();
  const preview = await restore(...LOG, '--dry-run');
  expect((await stored(ops.tables.notification_log)).map(({ log_id }) => log_id)).toEqual(['there']);
  const { code, rows, asked, verified } = await restore(...LOG);
  const expected = { there: 1, delivered: 1, due_again: 1, as_it_was: 2, cancelled: 1, erased: 1 };
  expect({ rows: preview.rows, asked: preview.asked }).toMatchObject({ rows: expected, asked: [] });
  expect({ code, rows, asked, violations: verified.violations }).toMatchObject({
    code: 0,
    rows: expected,
    asked: [],
    violations: [],
  });
  expect(await stored(ops.tables.notification_log)).toMatchObject([
    { log_id: 'cancelled', failure_reason: 'CANCELLED' },
    { log_id: 'dead', failure_reason: 'MAX_RETRIES', dead_message_id: 'dead-dead' },
    { log_id: 'delivered', send_status: 'SUCCESS', last_attempt: 1 },
    { log_id: 'erased', is_deleted: true, failure_reason: 'CANCELLED' },
    { log_id: 'failed', send_status: 'RETRY', work_at: new Date(NOW + HOUR).toISOString() },
    { log_id: 'there', error_message: 'newer' },
    { log_id: 'untouched', send_status: 'FAILED' },
  ]);
  const once = await stored(ops.tables.notification_log);
  expect((await restore(...LOG)).rows).toMatchObject({ there: 7, delivered: 0 });
  expect(await stored(ops.tables.notification_log)).toEqual(once);
  const audited = (await stored(ops.tables.audit)).filter(({ what }) => what === 'restore');
  expect(audited).toMatchObject([{ on: ['NotificationLog-restored'] }, { result: { there: 7, asked: 0 } }]);
}, 60_000);

it('goes on where another process was killed, after whichever write', async () => {
  await lose();
  await restore(...LOG);
  const whole = (await stored(ops.tables.notification_log)).map(({ log_id, send_status }) => [log_id, send_status]);
  for (const kept of [0, 2, 5]) {
    for (const { log_id } of (await stored(ops.tables.notification_log)).slice(kept))
      await ops.dynamodb.send(
        new DeleteItemCommand({ TableName: ops.tables.notification_log, Key: toItem({ log_id: log_id as string }) }),
      );
    await restore(...LOG);
    const rows = (await stored(ops.tables.notification_log)).map(({ log_id, send_status }) => [log_id, send_status]);
    expect(rows.filter(([log_id]) => log_id !== 'there')).toEqual(whole.filter(([log_id]) => log_id !== 'there'));
  }
}, 60_000);

it('stops what may have been sent where the records are lost, also when it is started once more', async () => {
  await put(
    copies.notification_log,
    row('due'),
    row('waits', { work_at: new Date(NOW + HOUR).toISOString() }),
    row('was-sent'),
  );
  for (const log_id of ['due', 'waits', 'was-sent']) {
    await put(ops.tables.notification_content, await content(log_id));
    await put(copies.notification_retry_log, record(log_id, 0));
  }
  await put(ops.tables.notification_retry_log, record('was-sent', 1, { retry_status: 'SUCCESS' }));
  const { records, records_lost, rows, asked, code } = await restore(...LOG, ...RECORDS);
  expect({ records, records_lost, code }).toEqual({ records: { there: 0, copied: 3 }, records_lost: true, code: 1 });
  expect(rows).toMatchObject({ as_it_was: 1, delivered: 1 });
  expect(asked).toMatchObject([{ why: 'outcome_unknown', log_id: 'due', is_kept: true }]);
  const listed = await ops.json<{ notifications: object[] }>('list', '--failure-reason', 'UNKNOWN');
  expect(listed.notifications).toMatchObject([{ log_id: 'due', state: 'stopped' }]);
  // The copies of a run before say nothing of the time since.
  await ops.dynamodb.send(
    new DeleteItemCommand({ TableName: ops.tables.notification_log, Key: { log_id: { S: 'due' } } }),
  );
  expect((await restore(...LOG, ...RECORDS)).asked).toMatchObject([{ why: 'outcome_unknown', log_id: 'due' }]);
}, 60_000);

it('copies content, of nobody who was erased and none of a former life, and names what has none', async () => {
  const { work_queue: _, ...over } = row('erased', {
    erased_at: before(1),
    is_deleted: true,
    failure_reason: 'CANCELLED',
  });
  await put(ops.tables.notification_log, row('kept'), row('anew', { life: 1 }), row('later'), over);
  await put(copies.notification_content, await content('kept'), await content('anew'), await content('erased'));
  const { contents, asked } = await restore(...CONTENT);
  expect(contents).toEqual({ there: 0, copied: 1, erased: 1 });
  expect(asked.map(({ why, log_id }) => [why, log_id]).sort()).toEqual([
    ['content_lost', 'anew'],
    ['content_lost', 'later'],
  ]);
  const [erased, kept] = await stored(ops.tables.notification_content);
  expect(erased).toMatchObject({ log_id: 'erased', erased_at: before(1) });
  expect(erased).not.toHaveProperty('encrypted_recipient');
  expect(kept).toMatchObject({ log_id: 'kept', message_body: 'words' });
}, 60_000);

it('puts the rows again that were accepted since, and names those that nobody can', async () => {
  const { deployment, dynamodb: client, tables } = ops;
  const sealer = deployment.sealer(client);
  const store = createIntakeStore({ client, tables, sealer, hashKey: async () => HASH_KEY });
  const clock = () => new Date(NOW - HOUR / 2);
  const more = {
    scheduled_at: new Date(NOW + HOUR).toISOString(),
    fallback: { channel: 'teams', recipient: 'https://b.example/t' },
  } as const;
  const { log_id } = await accept(intakeRequest('key-1', more), { ...memoryIntake().deps, store, clock });
  const { log_id: sent } = await accept(intakeRequest('key-2'), { ...memoryIntake().deps, store, clock });
  const accepted = await ops.row(log_id);
  for (const id of [log_id, sent])
    await client.send(new DeleteItemCommand({ TableName: tables.notification_log, Key: { log_id: { S: id } } }));
  await put(tables.notification_retry_log, record(sent, 0, { retry_status: 'SUCCESS' }));
  const old = { ...(await content('old')), accepted_at: before(HOUR / 2) };
  await put(tables.notification_content, old, await content('foreign', { image_sequence: 7 }), await content('before'));
  const { rows, asked } = await restore(...LOG);
  expect(rows).toMatchObject({ accepted_since: 2 });
  expect(asked.map((one) => [one.why, one.log_id]).sort()).toEqual([
    ['accepted_since', 'old'],
    ['written_since', 'foreign'],
  ]);
  const { updated_at: _, turn: __, queued_for: ___, ...kept } = accepted;
  expect(await ops.row(log_id)).toMatchObject(kept);
  expect(await ops.row(log_id)).toMatchObject({
    recipient_hash: recipientHash(HASH_KEY, 'tenant-1', 'https://example.com/hook'),
  });
  expect(await ops.row(sent)).toMatchObject({ send_status: 'SUCCESS', last_attempt: 0 });
}, 60_000);

it.each([
  [[], 'Pass --stop, --start, or the restored tables'],
  [['--stop', '--start'], 'Pass --stop, --start, or the restored tables'],
  [['--stop', ...LOG], 'Pass --stop, --start, or the restored tables'],
  [LOG, '--restored-to'],
])('refuses %j', async (args, why) => {
  const { code, err } = await ops.run(['restore', ...args, '--local']);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(why) });
});

it('refuses the deployed table in the place of a restored one', async () => {
  const args = ['--log', ops.tables.notification_log, '--restored-to', RESTORED_TO];
  const { code, err } = await ops.run(['restore', ...args, '--local']);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('deployed') });
});

it('stops nothing of the local runtime', async () => {
  expect(await ops.run(['restore', '--stop', '--local'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('no rules'),
  });
});
