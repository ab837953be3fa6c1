import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { contentItem } from '../../../src/adapters/dynamodb/delivery/content-items.ts';
import { toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { queueCounts } from '../../../src/adapters/sqs/lanes.ts';
import { deadRow, type Operations, startOperations, storedRow } from '../../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../../support/console.ts';
import { retryRecord } from '../../support/delivering.ts';
import { messageFor } from '../../support/rows.ts';

let ops: Operations;
let page: TestConsole;
let viewer: TestConsole;
beforeAll(async () => {
  ops = await startOperations();
  page = await startTestConsole(ops);
  viewer = await startTestConsole(ops, { role: 'viewer' });
}, 60_000);
afterAll(async () => {
  await page?.stop();
  await viewer?.stop();
  await ops?.stop();
});

async function putRecord(changes: Parameters<typeof retryRecord>[0]): Promise<void> {
  const Item = toItem(retryRecord(changes));
  await ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.notification_retry_log, Item }));
}

let serial = 0;
const request_id = () => `request-${++serial}`;
const waiting = (log_id: string) => storedRow(log_id, { work_at: new Date(Date.now() + 3_600_000).toISOString() });
const act = (action: string, log_ids: string[], more = {}) => ({
  body: { request_id: request_id(), action, log_ids, ...more },
});

describe('an action', () => {
  it('retries, cancels and gives up, and the audit says who did it, on what, with which result', async () => {
    await ops.put(waiting('A1'), waiting('A2'), deadRow('A3'));
    const retried = await page.ok('POST /api/actions', act('retry', ['A1', 'nobody']));
    expect(retried.results.map(({ result }) => result)).toEqual(['queued', 'not_found']);
    await page.ok('POST /api/actions', act('cancel', ['A2']));
    await page.ok('POST /api/actions', act('give_up', ['A3']));
    expect((await ops.takeAll()).map(({ log_id }) => log_id)).toEqual(['A1']);
    expect(await ops.row('A2')).toMatchObject({ send_status: 'FAILED', failure_reason: 'CANCELLED' });
    const given = await ops.row('A3');
    expect([given['failure_reason'], given['work_queue']]).toEqual(['MAX_RETRIES', undefined]);
    const { entries } = await page.ok('GET /api/audit');
    expect(entries.map(({ who, what, on, result }) => [who, what, on.join(), result])).toEqual([
      ['mori', 'give_up', 'A3', { given_up: 1 }],
      ['mori', 'cancel', 'A2', { cancelled: 1 }],
      ['mori', 'retry', 'A1,nobody', { queued: 1, not_found: 1 }],
    ]);
    expect(page.records.map(({ result }) => result === undefined)).toEqual([true, false, true, false, true, false]);
  });

  it('redrives a dead notification with a full budget, and no other', async () => {
    await ops.put(deadRow('D1', { send_attempts: 6, attempts_left: 0, redrive_count: 1 }), waiting('D2'));
    const tried = await page.ok('POST /api/actions', act('redrive', ['D1'], { dry_run: true }));
    expect([tried.results[0]?.result, tried.command]).toEqual(['queued', 'npm run ops -- retry --redrive D1 --local']);
    expect(await ops.row('D1')).toMatchObject({ redrive_count: 1 });
    const { results } = await page.ok('POST /api/actions', act('redrive', ['D1', 'D2']));
    expect(results.map(({ result, because }) => [result, because])).toEqual([
      ['queued', undefined],
      ['refused', 'it is waiting, not dead: retry it'],
    ]);
    const row = await ops.row('D1');
    expect(row).toMatchObject({ send_status: 'RETRY', send_attempts: 0, retry_count: 0, redrive_count: 2 });
    expect(Number(row['attempts_left'])).toBeGreaterThan(1);
    expect((await ops.takeAll()).map(({ log_id }) => log_id)).toEqual(['D1']);
    const commands = (await page.ok('GET /api/notifications/{log_id}', { path: { log_id: 'D1' } })).commands;
    expect(commands.map(({ label }) => label)).not.toContain('Redrive');
  });

  it('on dead ones leaves no letters of theirs behind, and those of others', async () => {
    const ids = ['L1', 'L2', 'L3'];
    for (const log_id of [...ids, 'L4', 'L5']) {
      const row = deadRow(log_id);
      const dead_message_id = await ops.sendDeadLetter('webhook', messageFor(row, { run_id: row.dead_run_id ?? '' }));
      await ops.put({ ...row, dead_message_id });
    }
    const depth = async () => (await queueCounts(ops.sqs, ops.deployment.dead_letter_queues.webhook)).visible;
    const at = await startTestConsole(ops, { clock: () => new Date(Date.now() + 10_000) });
    try {
      await at.ok('POST /api/actions', act('redrive', ['L1'], { dry_run: true }));
      await at.ok('POST /api/actions', act('redrive', ['L1', 'L2']));
      await at.ok('POST /api/actions', act('give_up', ['L3']));
      // Its letter stays until its attempt is over.
      await at.ok('POST /api/actions', act('retry', ['L4']));
      await vi.waitFor(async () => expect(await depth()).toBe(2), { timeout: 20_000, interval: 200 });
    } finally {
      await at.stop();
    }
    expect((await ops.take('webhook', 'dead_letter')).map(({ log_id }) => log_id).sort()).toEqual(['L4', 'L5']);
    expect(at.faults).toEqual([]);
    await ops.takeAll();
  });

  it('says at each attempt who asked for it, and keeps the first attempt when a redrive begins anew', async () => {
    const first = '2026-11-01T09:00:00.000Z';
    await ops.put(deadRow('W1', { first_attempt_at: first }));
    await putRecord({ original_log_id: 'W1', retry_attempt: 0, retry_at: first });
    await page.ok('POST /api/actions', act('redrive', ['W1']));
    const [message] = await ops.takeAll();
    const retry_at = new Date().toISOString();
    await putRecord({ original_log_id: 'W1', retry_attempt: 1, retry_at, run_id: String(message?.run_id) });
    const detail = await page.ok('GET /api/notifications/{log_id}', { path: { log_id: 'W1' } });
    expect(detail.attempts.map(({ asked_by }) => asked_by)).toEqual([undefined, { who: 'mori', what: 'redrive' }]);
    expect(detail.notification).toMatchObject({ first_attempt_at: first, window_from: expect.any(String) });
    expect(String(detail.notification['window_from']) > first).toBe(true);
  });

  it('is done once per request_id, and answered the same', async () => {
    await ops.put(waiting('R1'));
    const request = act('retry', ['R1']);
    const [one, other] = [await page.ok('POST /api/actions', request), await page.ok('POST /api/actions', request)];
    expect([one.repeated, other.repeated]).toEqual([false, true]);
    expect(other.results).toEqual(one.results);
    expect(await ops.takeAll()).toHaveLength(1);
    const reused = await page.call('POST /api/actions', { body: { ...request.body, log_ids: ['R2'] } });
    expect(reused.status).toBe(409);
  });

  it('is done once when it is sent twice at the same time', async () => {
    await ops.put(waiting('S1'));
    const request = act('retry', ['S1']);
    const both = await Promise.all([page.call('POST /api/actions', request), page.call('POST /api/actions', request)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await ops.takeAll()).toHaveLength(1);
  });

  it('says in a dry run what it would do, and writes and sends nothing', async () => {
    await ops.put(waiting('D1'), deadRow('D2'));
    const before = [await ops.row('D1'), await ops.row('D2')];
    const audited = page.records.length;
    for (const [action, log_id, result] of [
      ['retry', 'D1', 'queued'],
      ['cancel', 'D1', 'cancelled'],
      ['give_up', 'D2', 'given_up'],
    ] as const) {
      const { results } = await page.ok('POST /api/actions', act(action, [log_id], { dry_run: true }));
      expect(results).toEqual([{ log_id, result }]);
    }
    expect([await ops.row('D1'), await ops.row('D2')]).toEqual(before);
    expect(await ops.takeAll()).toEqual([]);
    expect(page.records).toHaveLength(audited);
  });

  it('keeps in a dry run the record that a cancellation would replace', async () => {
    const claim = { send_status: 'SENDING', claim_until: '2026-11-01T09:00:00.000Z', last_attempt: 1 } as const;
    await ops.put(storedRow('D3', { ...claim, claim_id: 'theirs' }));
    await putRecord({ original_log_id: 'D3', retry_attempt: 1, claim_id: 'mine' });
    const before = await page.ok('GET /api/notifications/{log_id}', { path: { log_id: 'D3' } });
    const { results } = await page.ok('POST /api/actions', act('cancel', ['D3'], { dry_run: true }));
    expect(results).toEqual([{ log_id: 'D3', result: 'cancelled' }]);
    const after = await page.ok('GET /api/notifications/{log_id}', { path: { log_id: 'D3' } });
    expect(before.attempts).toHaveLength(1);
    expect(after.attempts).toEqual(before.attempts);
  });

  it('takes of what was chosen only what still is as it was shown, whatever would be done with it', async () => {
    const updated_at = '2026-11-01T09:00:00.000Z';
    await ops.put(deadRow('B1', { updated_at }), deadRow('B2', { updated_at: '2026-11-01T09:00:00.001Z' }));
    await ops.put({ ...waiting('B3'), updated_at: '2026-11-01T09:00:00.001Z' });
    const shown = { B1: updated_at, B2: updated_at, B3: updated_at };
    const before = [await ops.row('B2'), await ops.row('B3')];
    const because = 'it has changed since it was shown: look at it again';
    const refused = [{ log_id: 'B2', result: 'refused', because }];
    for (const dry_run of [true, false]) {
      const { results } = await page.ok('POST /api/actions', act('redrive', ['B1', 'B2'], { shown, dry_run }));
      expect(results).toEqual([{ log_id: 'B1', result: 'queued' }, ...refused]);
    }
    for (const action of ['cancel', 'give_up', 'retry']) {
      const { results } = await page.ok('POST /api/actions', act(action, ['B2', 'B3'], { shown }));
      expect(results).toEqual([...refused, { log_id: 'B3', result: 'refused', because }]);
    }
    expect([await ops.row('B2'), await ops.row('B3')]).toEqual(before);
    expect((await ops.takeAll()).map(({ log_id }) => log_id)).toEqual(['B1']);
  });

  it('shows a recipient to an operator who asks, and writes down that, but not the address', async () => {
    const row = storedRow('V1');
    await ops.put(row);
    const sealer = ops.deployment.sealer(ops.dynamodb);
    const content = { recipient: 'mori@example.com', subject: 'Hello', body: 'text', format: 'PLAIN' } as const;
    const Item = await contentItem(sealer, { log_id: 'V1', tenant_id: row.tenant_id, expires_at: 2 ** 31 }, content);
    await ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.notification_content, Item }));
    const request = { path: { log_id: 'V1' }, body: { request_id: request_id() } };
    for (let i = 0; i < 3; i++) {
      expect(await page.ok('POST /api/notifications/{log_id}/reveal', request)).toEqual({
        recipient: 'mori@example.com',
      });
    }
    const { entries } = await page.ok('GET /api/audit', { query: { what: 'reveal' } });
    // Each time, also of the same request.
    expect(entries).toMatchObject([1, 2, 3].map(() => ({ on: ['V1'], result: { revealed: 1 } })));
    expect(JSON.stringify([entries, page.records])).not.toContain('example.com');
    expect(await page.ok('POST /api/notifications/{log_id}/content', request)).toEqual(content);
    expect((await viewer.call('POST /api/notifications/{log_id}/content', request)).status).toBe(403);
    const looks = await page.ok('GET /api/audit', { query: { what: 'reveal.content' } });
    expect(looks.entries).toMatchObject([{ who: 'mori', on: ['V1'], result: { revealed: 1 } }]);
    expect(JSON.stringify([looks, page.records])).not.toMatch(/example\.com|Hello|text/);
  });

  it('makes a key that is shown once, and revokes it', async () => {
    const request = { body: { request_id: request_id(), tenant: 'T1', scopes: ['send'] } };
    const { key_id, key } = await page.ok('POST /api/keys', request);
    expect(key).toMatch(/^nrk_/);
    expect(await page.ok('POST /api/keys', request)).toEqual({ key_id, key: null });
    await ops.json('keys', 'rotate', key_id);
    await page.ok('POST /api/keys/{key_id}/revoke', { path: { key_id }, body: { request_id: request_id() } });
    const { keys } = await page.ok('GET /api/keys', { query: { tenant: 'T1' } });
    expect(keys).toMatchObject([{ state: 'valid' }, { key_id, state: 'revoked' }]);
    expect(JSON.stringify([keys, page.records])).not.toContain(key?.slice(21));
    const audited = await page.ok('GET /api/audit', { query: { target: key_id } });
    expect(audited.entries.map(({ what, on }) => [what, on])).toEqual([
      ['key.revoke', [key_id]],
      ['key.rotate', [key_id, keys[0]?.key_id]],
      ['key.create', [key_id, 'T1']],
    ]);
  });
});

describe('a viewer', () => {
  it.each([
    ['POST /api/actions', { action: 'retry', log_ids: ['W1'] }],
    ['POST /api/notifications/{log_id}/reveal', {}],
    ['POST /api/operations', { kind: 'redrive', filter: {} }],
    ['POST /api/keys', { tenant: 'T1', scopes: ['send'] }],
    ['POST /api/keys/{key_id}/revoke', {}],
    ['POST /api/operations/{operation_id}/start', {}],
    ['POST /api/emails/{email_id}/retry', {}],
    ['POST /api/emails/{email_id}/resolve', { action: 'resend' }],
  ] as const)('can change nothing: %s', async (route, body) => {
    await ops.put(waiting('W1'));
    const path = { log_id: 'W1', key_id: 'k', operation_id: 'o', email_id: 'e' };
    const answer = await viewer.call(route, { path, body: { request_id: request_id(), ...body } });
    expect([answer.status, answer.body]).toEqual([
      403,
      expect.objectContaining({ detail: expect.stringContaining('viewer') }),
    ]);
    expect(viewer.records).toEqual([]);
  });

  it('sees what there is', async () => {
    expect((await viewer.call('GET /api/overview')).status).toBe(200);
    expect(await viewer.ok('GET /api/session')).toMatchObject({ who: 'mori', role: 'viewer' });
  });
});
