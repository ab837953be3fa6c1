import { PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { contentItem } from '../../../src/adapters/dynamodb/delivery/content-items.ts';
import { createContentStore, createRecordStore } from '../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { fallbackAttributes, lifeOf } from '../../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createCorrectionStore } from '../../../src/adapters/dynamodb/operator/correction-store.ts';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { readItem } from '../../../src/adapters/dynamodb/table/reads.ts';
import { recipientHash } from '../../../src/adapters/signing/hashed-ids.ts';
import { queueCounts } from '../../../src/adapters/sqs/lanes.ts';
import type { ForeignRow, NotificationRow } from '../../../src/core/model/notification.ts';
import { checkCorrection, planCorrection } from '../../../src/core/operator/correct.ts';
import { deadRow, HASH_KEY, type Operations, startOperations, storedRow } from '../../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../../support/console.ts';
import { retryRecord } from '../../support/delivering.ts';
import { messageFor } from '../../support/rows.ts';

let ops: Operations;
let page: TestConsole;
let viewer: TestConsole;
beforeAll(async () => {
  ops = await startOperations();
  // Each is older than what is sent of it.
  page = await startTestConsole(ops, { clock: () => new Date(Date.now() + 5_000) });
  viewer = await startTestConsole(ops, { role: 'viewer' });
}, 60_000);
afterAll(async () => {
  await page?.stop();
  await viewer?.stop();
  await ops?.stop();
});

const CONTENT = { recipient: 'old@example.com', subject: 'Your bill', body: 'Dear Mori', format: 'PLAIN' } as const;

async function given(row: NotificationRow & ForeignRow, more: object = {}) {
  const sealer = ops.deployment.sealer(ops.dynamodb);
  const owner = { log_id: row.log_id, tenant_id: row.tenant_id, expires_at: 2 ** 31 };
  const fallback = await fallbackAttributes(row, { recipient: '#ops' }, sealer, async () => HASH_KEY);
  const Item = { ...(await contentItem(sealer, owner, CONTENT, fallback)), ...toItem(more) };
  await ops.put(row);
  await ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.notification_content, Item }));
}

const stored = (log_id: string) => readItem(ops.dynamodb, ops.tables.notification_content, log_id);

async function contentOf({ log_id, tenant_id, life }: ForeignRow) {
  const sealer = ops.deployment.sealer(ops.dynamodb);
  const contents = createContentStore(ops.dynamodb, ops.tables.notification_content, sealer);
  return contents.read({ log_id, tenant_id, life } as NotificationRow);
}

/** Absent, or NULL, as a writer leaves it. */
const NO_WORK = { work_queue: undefined } as object;

let serial = 0;
const correct = (log_id: string, asked: object) => ({
  path: { log_id },
  body: { request_id: `correct-${++serial}`, ...asked },
});
const ROUTE = 'POST /api/notifications/{log_id}/correct';
const email = { channel: 'email', tenant_id: 'tenant-1' } as const;

describe('a correction', () => {
  it('sends a stopped notification to another recipient, in another life, and the audit says no address', async () => {
    const row = storedRow('C1', {
      ...email,
      send_status: 'FAILED',
      failure_reason: 'INVALID_RECIPIENT',
      last_attempt: 2,
      suppressed: true,
      bounced_at: '2026-01-01T00:00:00.000Z',
      recipient_hash: recipientHash(HASH_KEY, 'tenant-1', CONTENT.recipient),
    });
    const { work_queue: _, ...stopped } = row;
    await given(stopped, { request_hash: 'kept', image_sequence: 7 });
    const tried = await page.ok(ROUTE, correct('C1', { recipient: 'new@example.com', dry_run: true }));
    expect(tried).toMatchObject({
      result: 'queued',
      changes: [{ field: 'recipient', from: 'o•••@example.com', to: 'n•••@example.com' }],
      command: 'npm run ops -- correct C1 --recipient - --local',
    });
    expect(await ops.row('C1')).toEqual(stopped);

    const asked = correct('C1', { recipient: 'new@example.com' });
    expect(await page.ok(ROUTE, asked)).toMatchObject({ result: 'queued', repeated: false });
    expect(await page.ok(ROUTE, asked)).toMatchObject({ result: 'queued', repeated: true });
    const now = await ops.row('C1');
    expect(now).toMatchObject({
      send_status: 'RETRY',
      life: 4,
      last_attempt: 3,
      send_attempts: 0,
      recipient_hash: recipientHash(HASH_KEY, 'tenant-1', 'new@example.com'),
    });
    for (const gone of ['failure_reason', 'suppressed', 'bounced_at', 'first_attempt_at'])
      expect(now[gone]).toBeUndefined();
    expect(await contentOf(now)).toEqual({ ...CONTENT, recipient: 'new@example.com' });
    const content = (await stored('C1')) ?? {};
    expect(lifeOf(content)).toBe(4);
    expect(content).toMatchObject({ request_hash: { S: 'kept' }, image_sequence: { N: '7' } });
    expect((await ops.takeAll()).map(({ log_id, due }) => [log_id, due])).toEqual([['C1', now['work_at']]]);

    const { entries } = await page.ok('GET /api/audit', { query: { what: 'correct' } });
    expect(entries).toMatchObject([{ who: 'mori', on: ['C1'], result: { queued: 1 } }]);
    const { changed } = JSON.parse(entries[0]?.details ?? '{}');
    expect(Object.keys(changed)).toEqual(['recipient']);
    expect(changed.recipient.from).toMatch(/^[\w-]{22}$/);
    expect(changed.recipient.to).not.toBe(changed.recipient.from);
    expect(JSON.stringify([entries, page.records])).not.toContain('example.com');
  });

  it('changes text and integration of a dead one, whose letter is deleted and whose fallback stays readable', async () => {
    const row = deadRow('C2', {
      ...email,
      integration_config_id: 'ic-old',
      fallback_channel: 'slack',
      last_attempt: 6,
    });
    const letter = messageFor(row, { run_id: row.dead_run_id ?? '' });
    await given({ ...row, dead_message_id: await ops.sendDeadLetter('email', letter) });
    await ops.sendDeadLetter('email', { ...letter, log_id: 'another' });
    const asked = { subject: 'Your bill for May', body: 'Dear Sato', integration_config_id: 'ic-new' };
    const { changes } = await page.ok(ROUTE, correct('C2', asked));
    expect(changes).toEqual([
      { field: 'subject', from: '9 characters', to: '17 characters' },
      { field: 'body', from: '9 characters', to: '9 characters' },
      { field: 'integration_config_id', from: 'ic-old', to: 'ic-new' },
    ]);
    const now = await ops.row('C2');
    expect(now).toMatchObject({ integration_config_id: 'ic-new', life: 8, work_queue: expect.stringMatching(/^due#/) });
    expect([now['dead_message_id'], now['dead_run_id']]).toEqual([undefined, undefined]);
    expect(await contentOf(now)).toMatchObject({ ...CONTENT, subject: asked.subject, body: asked.body });
    const sealer = ops.deployment.sealer(ops.dynamodb);
    const { encrypted_fallback_recipient: sealed } = (await stored('C2')) ?? {};
    const owner = { tenant_id: 'tenant-1', purpose: 'recipient', id: 'C2-fallback-8' } as const;
    expect(await sealer.open(owner, sealed?.S ?? '')).toBe('#ops');
    await ops.takeAll();
    const depth = async () => (await queueCounts(ops.sqs, ops.deployment.dead_letter_queues.email)).visible;
    await vi.waitFor(async () => expect(await depth()).toBe(1), { timeout: 20_000, interval: 100 });
    expect(await ops.take('email', 'dead_letter')).toMatchObject([{ log_id: 'another' }]);
  });

  it.each([
    ["another tenant's integration", { integration_config_id: 'ic-others' }, /integration_config_id cannot be used/],
    ['an integration that is not there', { integration_config_id: 'ic-none' }, /integration_config_id cannot be used/],
    ['what is no address', { recipient: 'nobody' }, /recipient must be one e-mail address/],
    ['a body that the channel of the fallback cannot take', { body: 'x'.repeat(41_000) }, /slack takes at most 40000/],
    ['an empty subject', { subject: '' }, /subject/],
    ['nothing new', { subject: 'Your bill' }, /Nothing would change/],
    ['what has changed since it was shown', { subject: 'A', shown: 'before' }, /^$/],
  ])('refuses %s, and changes nothing', async (what, asked, because) => {
    const row = deadRow('C3', { ...email, fallback_channel: 'slack' });
    await given(row);
    const { status, body } = await page.call(ROUTE, correct('C3', asked));
    if (what.startsWith('what has changed')) {
      expect(body).toMatchObject({ result: 'refused', because: expect.stringContaining('changed since it was shown') });
    } else {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(String((body as { detail?: string }).detail)).toMatch(because);
      expect(JSON.stringify(body)).not.toMatch(/tenant-2|Dear Mori/);
    }
    expect(await ops.row('C3')).toEqual(row);
    expect(await ops.takeAll()).toEqual([]);
  });

  it.each<readonly [string, Partial<NotificationRow> & ForeignRow, RegExp]>([
    ['delivered', { send_status: 'SUCCESS' }, /delivered already/],
    ['being sent', { send_status: 'SENDING', claim_until: '2999-01-01T00:00:00.000Z' }, /under way/],
    ['with a worker that crashed', { send_status: 'SENDING', claim_until: '2020-01-01T00:00:00.000Z' }, /crashed/],
    ['deleted by its writer', { is_deleted: true }, /is_deleted/],
    ['erased', { is_deleted: true, erased_at: '2026-01-01T00:00:00.000Z' }, /erased/],
    [
      'continued on its fallback channel',
      { send_status: 'FAILED', failure_reason: 'EXPIRED', successor_log_id: 'C4-fallback', ...NO_WORK },
      /C4-fallback/,
    ],
    ['known to have arrived', { delivery_by_attempt: { 0: 'delivered' } }, /arrived/],
    ['changed by its writer a moment ago', { recipient_address: 'x@example.com' }, /just changed/],
  ])('refuses one that is %s, in words, and the page says so before', async (_, state, because) => {
    const row = storedRow('C4', { ...email, ...state });
    await given(row);
    const { status, body } = await page.call(ROUTE, correct('C4', { recipient: 'new@example.com' }));
    expect([status, (body as { detail?: string }).detail]).toEqual([409, expect.stringMatching(because)]);
    const detail = await page.ok('GET /api/notifications/{log_id}', { path: { log_id: 'C4' } });
    expect(detail.correction).toEqual({ possible: false, because: expect.stringMatching(because) });
    expect(await contentOf({ ...row, life: undefined })).toEqual(CONTENT);
  });

  it.each([
    ['the same recipient, repaired elsewhere', 'email', { recipient: CONTENT.recipient }, 'queued'],
    ['another text alone', 'email', { subject: 'Hi' }, /INVALID_RECIPIENT: name another recipient/],
    ['another text alone', 'slack', { subject: 'Hi' }, /INVALID_RECIPIENT: name another recipient/],
  ] as const)('takes for a wrong recipient of %s (%s) or not', async (what, channel, asked, expected) => {
    const log_id = `wrong-${channel}-${what.length}`;
    await given(
      storedRow(log_id, { ...email, channel, send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT', ...NO_WORK }),
    );
    const { body } = await page.call(ROUTE, correct(log_id, asked));
    await ops.takeAll();
    if (expected === 'queued') expect(body).toMatchObject({ result: 'queued', changes: [{ field: 'recipient' }] });
    else expect(String((body as { detail?: string }).detail)).toMatch(expected);
  });

  it('takes another integration alone for a wrong channel or URL, which may be right there, and not for an address', () => {
    const check = (channel: 'email' | 'slack') => {
      const row = storedRow('C5', { channel, send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT', ...NO_WORK });
      return checkCorrection(row, { integration_config_id: 'ic-new' }, new Date());
    };
    expect(check('slack')).toEqual({ state: 'stopped' });
    expect(check('email')).toEqual({ refused: 'INVALID_RECIPIENT: name another recipient' });
  });

  it('leaves a scheduled one to its time, and says when that is', async () => {
    const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
    await given(
      storedRow('C5', { ...email, last_attempt: -1, scheduled_at, work_at: scheduled_at, next_retry_at: scheduled_at }),
    );
    const asked = { subject: 'Your bill for May' };
    const says = { result: 'queued', due: scheduled_at };
    expect(await page.ok(ROUTE, correct('C5', { ...asked, dry_run: true }))).toMatchObject(says);
    expect(await page.ok(ROUTE, correct('C5', asked))).toMatchObject(says);
    expect(await ops.row('C5')).toMatchObject({ life: 1, work_at: scheduled_at, next_retry_at: scheduled_at });
    expect(await ops.takeAll()).toEqual([]);
  });

  it('keeps no word of a provider that names the recipient of before', async () => {
    const said = `550 no ${CONTENT.recipient} here`;
    const details = JSON.stringify({ diagnostic: said });
    await given(deadRow('C6', { ...email, last_attempt: 0, error_message: said, error_details: details }));
    const records = createRecordStore(ops.dynamodb, ops.tables.notification_retry_log);
    const told = { response_message: said, error_details: details };
    await records.putIfAbsent(
      retryRecord({ original_log_id: 'C6', retry_log_id: 'C6-0', retry_attempt: 0, tenant_id: 'tenant-1', ...told }),
    );
    await page.ok(ROUTE, correct('C6', { subject: 'Another' }));
    expect(await ops.row('C6')).toMatchObject({ error_message: said, error_details: details });
    await page.ok(ROUTE, correct('C6', { recipient: 'new@example.com' }));
    const [now, record] = [await ops.row('C6'), await records.find('C6', 0)];
    expect(now).toMatchObject({ error_message: '550 no … here', error_details: '{"diagnostic":"550 no … here"}' });
    expect(record).toMatchObject({
      response_message: '550 no … here',
      error_details: '{"diagnostic":"550 no … here"}',
    });
    await ops.takeAll();
  });

  it('changes nothing where the fallback recipient was erased since it was read', async () => {
    await given(deadRow('C7', { ...email, fallback_channel: 'slack' }));
    const { notification_content: TableName } = ops.tables;
    const hashKey = async () => {
      const UpdateExpression = 'REMOVE encrypted_fallback_recipient, fallback_recipient_hash';
      await ops.dynamodb.send(new UpdateItemCommand({ TableName, Key: toItem({ log_id: 'C7' }), UpdateExpression }));
      return HASH_KEY;
    };
    const sealer = ops.deployment.sealer(ops.dynamodb);
    const clock = () => new Date();
    const store = createCorrectionStore({ client: ops.dynamodb, tables: ops.tables, sealer, hashKey, clock });
    const row = await store.read('C7');
    const policy = ops.deployment.retry_policy;
    const asked = { recipient: 'new@example.com' };
    const { change } = planCorrection(row as NotificationRow, asked, { now: clock(), policy });
    expect(await store.correct(row as NotificationRow, change, asked)).toBe(false);
    expect(await stored('C7')).not.toHaveProperty('encrypted_fallback_recipient');
    expect(await ops.row('C7')).toMatchObject({ work_queue: expect.stringMatching(/^dead/) });
  });

  it('is an operator’s, not a viewer’s', async () => {
    expect((await viewer.call(ROUTE, correct('C3', { subject: 'x' }))).status).toBe(403);
  });
});

describe('ops correct', () => {
  it('reads the recipient from stdin, shows it masked, and writes down who did it', async () => {
    await given(deadRow('D1', email));
    const read = { input: 'new@example.com' };
    const dry = await ops.run(['correct', 'D1', '--recipient', '-', '--dry-run'], read);
    expect(dry).toMatchObject({
      code: 0,
      out: expect.stringMatching(/o•••@example\.com +n•••@example\.com\n.*would be/s),
    });
    expect(await ops.row('D1')).toMatchObject({ work_queue: expect.stringMatching(/^dead/) });
    const { code, out } = await ops.run(['correct', 'D1', '--recipient', '-', '--json'], read);
    expect([code, JSON.parse(out)]).toMatchObject([0, { log_id: 'D1', dry_run: false, result: 'queued' }]);
    expect(await contentOf(await ops.row('D1'))).toMatchObject({ recipient: 'new@example.com' });
    await ops.takeAll();
  });

  it.each([
    [['--recipient', 'new@example.com'], 2, /stdin/],
    [[], 2, /Nothing to correct/],
    [['--integration', 'ic-others'], 2, /--integration cannot be used/],
    [['--body', '/no/such/file'], 1, /cannot be read/],
  ])('refuses %j', async (options, exit, says) => {
    await given(deadRow('D2', email));
    const { code, err } = await ops.run(['correct', 'D2', ...options]);
    expect([code, err]).toEqual([exit, expect.stringMatching(says)]);
  });
});

describe('the integration of a group', () => {
  const asked = (more: object) => ({
    body: { request_id: `operation-${++serial}`, kind: 'correct' as const, ...more },
  });
  const filter = { tenant: 'tenant-1', channel: 'email', integration: 'ic-old' } as const;

  it('is changed by an operation, which shows before what it takes, and takes no other', async () => {
    const old = { ...email, integration_config_id: 'ic-old' };
    await given(deadRow('E1', { ...old, last_attempt: 3 }));
    await given(deadRow('E2', { ...email, integration_config_id: 'ic-else' }));
    await given(deadRow('E3', { ...old, tenant_id: 'tenant-2' }));
    const made = await page.ok('POST /api/operations', asked({ filter, integration_config_id: 'ic-new' }));
    const { operation_id } = made;
    const shown = async () => page.ok('GET /api/operations/{operation_id}', { path: { operation_id } });
    await expect.poll(async () => (await shown()).status, { timeout: 20_000 }).toBe('ready');
    expect(await shown()).toMatchObject({
      integration_config_id: 'ic-new',
      preview: { taken: 1 },
      sample_log_ids: ['E1'],
    });
    expect(await ops.row('E1')).toMatchObject({ integration_config_id: 'ic-old' });
    await page.ok('POST /api/operations/{operation_id}/start', {
      path: { operation_id },
      body: { request_id: `operation-${++serial}` },
    });
    await expect.poll(async () => (await shown()).status, { timeout: 20_000 }).toBe('done');
    const now = await ops.row('E1');
    expect(now).toMatchObject({
      integration_config_id: 'ic-new',
      life: 5,
      send_status: 'RETRY',
      replay_id: operation_id,
    });
    expect(await contentOf(now)).toEqual(CONTENT);
    expect(await ops.row('E2')).toMatchObject({
      integration_config_id: 'ic-else',
      work_queue: expect.stringMatching(/^dead/),
    });
    expect(await ops.row('E3')).toMatchObject({ integration_config_id: 'ic-old' });
    expect((await ops.takeAll()).map(({ log_id }) => log_id)).toEqual(['E1']);
  });

  it.each([
    ["another tenant's integration", { filter, integration_config_id: 'ic-others' }, /cannot be used/],
    ['no integration', { filter }, /integration_config_id is required/],
    ['no tenant', { filter: { channel: 'email' as const }, integration_config_id: 'ic-new' }, /tenant is required/],
    [
      'stopped ones',
      { filter, integration_config_id: 'ic-new', include_stopped: true },
      /include_stopped is not for corrections/,
    ],
    ['no channel', { filter: { tenant: 'tenant-1' }, integration_config_id: 'ic-new' }, /channel is required/],
  ])('is not changed with %s', async (_, more, because) => {
    const { status, body } = await page.call('POST /api/operations', asked(more));
    expect([status, (body as { detail?: string }).detail]).toEqual([400, expect.stringMatching(because)]);
  });
});
