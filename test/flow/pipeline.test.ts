import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const flow = new Flow();
/** Texts that must be in no queue, log or table: see the last test. */
const PRIVATE = { recipient: 'hanako.secret@example.com', body: 'とても秘密の本文' };

const row = (log_id: string, changes: Record<string, unknown> = {}) => ({
  log_id,
  tenant_id: 'TENANT001',
  notification_id: `NOTIF-${log_id}`,
  notification_type: 'WEBHOOK',
  recipient_type: 'WEBHOOK',
  recipient_address: `${flow.endpoints.endpoints.simulator}/webhook/ok/${log_id}`,
  subject: '【お知らせ】件名',
  message_body: `本文 ${log_id}`,
  message_format: 'PLAIN',
  send_status: 'FAILED',
  send_attempts: 1,
  priority_level: 'MEDIUM',
  created_at: new Date().toISOString(),
  ...changes,
});
const at = (path: string) => `${flow.endpoints.endpoints.simulator}${path}`;
const status = (log_id: string, expected: string) =>
  eventually(async () => ((await flow.row(log_id))['send_status'] === expected ? expected : undefined), 30_000);

beforeAll(() => flow.start({ baseIntervalSeconds: 0.5 }), 180_000);
afterAll(() => flow.end(), 60_000);

describe('rows that have only the specs’ columns', () => {
  it('are delivered on every channel and recorded', async () => {
    await flow.put([
      row('f-webhook', { integration_config_id: 'local-webhook' }),
      row('f-email', {
        notification_type: 'EMAIL',
        recipient_type: 'USER',
        recipient_address: 'yamada.taro@example.com',
        message_format: 'MARKDOWN',
        message_body: '# 見出し\n\n**太字** 😀',
      }),
      row('f-slack', {
        notification_type: 'SLACK',
        recipient_type: 'CHANNEL',
        recipient_address: '#notifications',
        integration_config_id: 'local-slack',
        message_format: 'MARKDOWN',
        message_body: ':warning: *目標期限のお知らせ* <https://example.com|詳細>',
      }),
      row('f-teams', {
        notification_type: 'TEAMS',
        recipient_type: 'CHANNEL',
        recipient_address: at('/teams/ok/f-teams'),
      }),
      row('f-pending', { send_status: 'PENDING', send_attempts: 0 }),
    ]);
    const { code, stdout, stderr } = await flow.jobProcess('--local', '--wait', '--json');
    expect(code, stderr).toBe(0);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ dry_run: false, due: 5, dispatched: 5, skipped: 0, outcomes: { SUCCESS: 5 } });
    expect(result.by_channel).toEqual({ email: 1, slack: 1, teams: 1, webhook: 2 });
    for (const log_id of ['f-webhook', 'f-email', 'f-slack', 'f-teams']) {
      expect(await flow.row(log_id)).toMatchObject({ send_status: 'SUCCESS', send_attempts: 2, retry_count: 1 });
      expect(await flow.records(log_id)).toEqual([
        expect.objectContaining({
          retry_log_id: `${log_id}#1`,
          retry_attempt: 1,
          retry_status: 'SUCCESS',
          run_id: result.run_id,
        }),
      ]);
    }
    expect(await flow.records('f-pending')).toEqual([
      expect.objectContaining({ retry_attempt: 0, retry_status: 'SUCCESS' }),
    ]);
    const [webhook] = await flow.received('log_id=f-webhook');
    expect(webhook?.headers).toMatchObject({
      'webhook-id': 'f-webhook',
      'webhook-signature': expect.stringMatching(/^v1,/),
    });
  });

  it('lose their content to another table, with the recipient encrypted', async () => {
    const stored = await flow.row('f-email');
    for (const column of ['recipient_address', 'subject', 'message_body']) expect(stored).not.toHaveProperty(column);
    expect(await flow.dump()).not.toContain('yamada.taro@example.com');
  });

  it('are set aside with column and rule when they are malformed, and hold up no other row', async () => {
    await flow.put([row('f-bad', { notification_type: 'FAX' }), row('f-good')]);
    expect((await flow.job('--wait')).outcomes).toEqual({ SUCCESS: 1 });
    expect(await flow.row('f-bad')).toMatchObject({
      send_status: 'FAILED',
      error_type: 'FORMAT_ERROR',
      error_message: expect.stringContaining('notification_type breaks chk_notification_log_type'),
    });
  });
});

it('a look ahead between two sweeps queues notifications that are due soon, with a delay', async () => {
  const next_retry_at = new Date(Date.now() + 5_000).toISOString();
  await flow.put([row('f-soon', { next_retry_at })]);
  await eventually(async () => ((await flow.row('f-soon'))['work_queue'] === undefined ? undefined : true));
  expect(await flow.invoke('dispatcher', { ahead: true })).toMatchObject({ due: 0, ahead: 1 });
  await status('f-soon', 'SUCCESS');
  const [{ retry_at = '' } = {}] = await flow.records('f-soon');
  expect(Date.parse(String(retry_at)) - Date.parse(next_retry_at)).toBeGreaterThanOrEqual(0);
});

describe('failures', () => {
  it('end as specified: delivered later, stopped, dead', async () => {
    await flow.put([
      row('x-flaky', { recipient_address: at('/webhook/flaky-2/x') }),
      row('x-gone', { recipient_address: at('/webhook/gone') }),
      row('x-slack', {
        notification_type: 'SLACK',
        recipient_address: '#missing',
        integration_config_id: 'local-slack',
      }),
      row('x-mail', { notification_type: 'EMAIL', recipient_address: 'unauthorized+1@example.com' }),
      row('x-down', { recipient_address: at('/webhook/status-503'), max_retry_count: 2 }),
    ]);
    await flow.job('--wait');
    await status('x-flaky', 'SUCCESS');
    expect((await flow.records('x-flaky')).map(({ retry_status }) => retry_status)).toEqual([
      'FAILED',
      'FAILED',
      'SUCCESS',
    ]);
    expect(await flow.row('x-gone')).toMatchObject({ send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' });
    expect(await flow.row('x-slack')).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'INVALID_RECIPIENT',
      error_message: expect.stringContaining('channel_not_found'),
    });
    await status('x-down', 'FAILED');
    expect(await flow.row('x-down')).toMatchObject({
      failure_reason: 'MAX_RETRIES',
      error_type: 'SERVER_OVERLOAD',
      send_attempts: 3,
    });
    expect(await flow.row('x-mail')).toMatchObject({
      send_status: 'FAILED',
      work_queue: expect.stringMatching(/^dead#/),
    });
    expect(await eventually(async () => (await flow.deadLetters('webhook')) || undefined)).toBe(1);
    expect(await eventually(async () => (await flow.deadLetters('email')) || undefined)).toBe(1);
  });

  it('that became dead letters start anew when an operator redrives them', async () => {
    await flow.put([row('r-1', { recipient_address: at('/webhook/flaky-2/r'), max_retry_count: 1 })]);
    await flow.job('--wait');
    expect(await flow.row('r-1')).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'MAX_RETRIES',
      send_attempts: 2,
    });
    await eventually(async () => ((await flow.deadLetters('webhook')) >= 2 ? true : undefined));
    expect(await flow.redrive('webhook')).toBeGreaterThanOrEqual(2);
    await status('r-1', 'SUCCESS');
    expect(await flow.row('r-1')).toMatchObject({ redrive_count: 1 });
    expect((await flow.records('r-1')).map(({ trigger }) => trigger)).toContain('redrive');
  });
});

describe('the job’s options', () => {
  // What was redriven before may be due again at any moment.
  const only = '--tenant=DUE';
  it('--dry-run writes and sends nothing', async () => {
    await flow.put([row('d-1', { tenant_id: 'DUE' }), row('d-2', { tenant_id: 'DUE', priority_level: 'HIGH' })]);
    const state = async () => [await flow.row('d-1'), await flow.row('d-2'), await flow.records('d-1')];
    // Both: rows of different partitions are indexed in any order.
    for (const log_id of ['d-1', 'd-2']) {
      await eventually(async () => ((await flow.row(log_id))['work_queue'] ? true : undefined));
    }
    const before = await state();
    const result = await flow.job('--dry-run', '--list', only, '--wait');
    expect(result).toMatchObject({ dry_run: true, due: 2, dispatched: 0, by_priority: { important: 1, normal: 1 } });
    expect(result.targets?.map(({ log_id, would }) => [log_id, would])).toEqual([
      ['d-2', 'send'],
      ['d-1', 'send'],
    ]);
    expect(await state()).toEqual(before);
    expect(await flow.received('log_id=d-1')).toEqual([]);
  });

  it('--priority, --channel, --tenant and --limit select', async () => {
    expect(await flow.job('--priority=important', '--wait')).toMatchObject({
      due: 1,
      dispatched: 1,
      outcomes: { SUCCESS: 1 },
    });
    await flow.put([row('d-3', { tenant_id: 'OTHER' }), row('d-4', { tenant_id: 'DUE' })]);
    await eventually(async () => ((await flow.row('d-4'))['work_queue'] ? true : undefined));
    expect(await flow.job('--channel=email', '--wait')).toMatchObject({ due: 0, dispatched: 0, outcomes: {} });
    expect(await flow.job('--tenant=OTHER', '--wait')).toMatchObject({ due: 1, outcomes: { SUCCESS: 1 } });
    expect(await flow.job('--limit=1', only, '--wait')).toMatchObject({ due: 2, dispatched: 1, skipped: 1 });
    expect(await flow.job(only, '--wait')).toMatchObject({ due: 1, outcomes: { SUCCESS: 1 } });
  });

  it('--max-retry-count replaces the limit; --force-retry ignores it and also takes the dead', async () => {
    const only = '--tenant=FORCED';
    const recipient_address = at('/webhook/flaky-2/m');
    await flow.put([row('m-1', { tenant_id: 'FORCED', recipient_address, max_retry_count: 5 })]);
    expect((await flow.job('--max-retry-count=1', only, '--wait')).outcomes).toEqual({ FAILED: 1 });
    expect(await flow.row('m-1')).toMatchObject({
      failure_reason: 'MAX_RETRIES',
      max_retry_count: 1,
      send_attempts: 2,
    });
    expect(await flow.job(only, '--wait')).toMatchObject({ due: 0 });
    expect((await flow.job('--force-retry', only, '--wait')).outcomes).toEqual({ FAILED: 1 });
    expect((await flow.job('--force-retry', only, '--wait')).outcomes).toEqual({ SUCCESS: 1 });
    expect(await flow.row('m-1')).toMatchObject({ send_status: 'SUCCESS', send_attempts: 2, last_attempt: 3 });
    expect(await flow.job('--force-retry', only, '--wait')).toMatchObject({ due: 0 });
  });

  it('are refused with exit code 2 when they are wrong', async () => {
    const { code, stderr, stdout } = await flow.jobProcess('--local', '--channel=fax', '--now');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/--now: unknown option\n--channel=fax: must be one of email, slack, teams, webhook/);
  });
});

it('privacy keeps recipient, subject and body out of logs, queues and dead letters', async () => {
  await flow.put([
    row('p-1', { notification_type: 'EMAIL', recipient_address: PRIVATE.recipient, message_body: PRIVATE.body }),
    row('p-2', { recipient_address: at(`/webhook/unauthorized/${PRIVATE.recipient}`), message_body: PRIVATE.body }),
  ]);
  await flow.job('--wait');
  expect(await flow.row('p-1')).toMatchObject({ send_status: 'SUCCESS' });
  expect(await flow.row('p-2')).toMatchObject({ failure_reason: 'AUTH_FAILED' });
  const logs = flow.logs();
  expect(logs).toContain('"log_id":"p-1"');
  for (const secret of [PRIVATE.recipient, PRIVATE.body, '【お知らせ】']) expect(logs).not.toContain(secret);
  expect(await flow.dump()).not.toContain(PRIVATE.recipient);
});
