import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';

const flow = new Flow();
const BASE_SECONDS = 0.5;
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

beforeAll(() => flow.start({ baseIntervalSeconds: BASE_SECONDS }), 180_000);
afterAll(() => flow.end(), 60_000);

describe('batch-952-notification-retry.md', () => {
  it('§2, §3.1, §4.1, §8: what another batch could not send is sent on its channel, and recorded', async () => {
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
        recipient_address: flow.at('/teams/ok/f-teams'),
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

  it('header: between two runs, what is due soon is queued with a delay', async () => {
    const next_retry_at = new Date(Date.now() + 5_000).toISOString();
    await flow.put([row('f-soon', { next_retry_at })]);
    await eventually(async () => ((await flow.row('f-soon'))['work_queue'] === undefined ? undefined : true));
    expect(await flow.invoke('dispatcher', { ahead: true })).toMatchObject({ due: 0, ahead: 1 });
    await flow.until('f-soon', 'SUCCESS');
    const [{ retry_at = '' } = {}] = await flow.records('f-soon');
    expect(Date.parse(String(retry_at)) - Date.parse(next_retry_at)).toBeGreaterThanOrEqual(0);
  });

  it('§2, §5, §6: failures are retried after the backoff, stopped, or dead letters', async () => {
    await flow.put([
      row('x-flaky', { recipient_address: flow.at('/webhook/flaky-2/x') }),
      row('x-limited', { recipient_address: flow.at('/webhook/rate-limit-1/x') }),
      row('x-gone', { recipient_address: flow.at('/webhook/gone') }),
      row('x-slack', {
        notification_type: 'SLACK',
        recipient_address: '#missing',
        integration_config_id: 'local-slack',
      }),
      row('x-mail', { notification_type: 'EMAIL', recipient_address: 'unauthorized+1@example.com' }),
      row('x-down', { recipient_address: flow.at('/webhook/status-503'), max_retry_count: 2 }),
    ]);
    await flow.job('--wait');
    await flow.until('x-flaky', 'SUCCESS');
    const tries = await flow.records('x-flaky');
    expect(tries.map(({ retry_status }) => retry_status)).toEqual(['FAILED', 'FAILED', 'SUCCESS']);
    // §5.1: base × 2ⁿ and a jitter as long; §6.1: an overloaded server gets twice the time.
    for (const [i, { retry_at, next_retry_at }] of tries.slice(0, 2).entries()) {
      const waits_ms = Date.parse(String(next_retry_at)) - Date.parse(String(retry_at));
      const least_ms = 2 * BASE_SECONDS * 1_000 * 2 ** (i + 1);
      expect(waits_ms).toBeGreaterThanOrEqual(least_ms);
      expect(waits_ms, 'the attempt included').toBeLessThan(2 * least_ms + 2_000);
    }
    await flow.until('x-limited', 'SUCCESS');
    expect(await flow.row('x-limited'), '§6.1: a rate limit uses up no retry').toMatchObject({ retry_count: 1 });
    expect(await flow.row('x-gone')).toMatchObject({ send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' });
    expect(await flow.row('x-slack')).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'INVALID_RECIPIENT',
      error_message: expect.stringContaining('channel_not_found'),
    });
    await flow.until('x-down', 'FAILED');
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

  // What failed before may be due again at any moment.
  const only = '--tenant=DUE';
  it('§7 --dry-run writes and sends nothing', async () => {
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

  it('§7 --priority, --channel, and --tenant and --limit select', async () => {
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

  it('§7 --max-retry-count replaces the limit; --force-retry ignores it and also takes the dead', async () => {
    const only = '--tenant=FORCED';
    const recipient_address = flow.at('/webhook/flaky-2/m');
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

  it('§7: an unknown option or value is refused with exit code 2', async () => {
    const { code, stderr, stdout } = await flow.jobProcess('--local', '--channel=fax', '--now');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/--now: unknown option\n--channel=fax: must be one of email, slack, teams, webhook/);
  });

  it.each(['', '--max-retry-count=3', '--channel=email', '--priority=urgent', '--dry-run'])(
    '§8: npm run batch:notification-retry -- %s',
    async (option) => {
      const result = await flow.job(...(option === '' ? [] : [option]));
      expect(result).toMatchObject({ dry_run: option === '--dry-run' });
    },
  );
});

describe('his-notification-log-table.md', () => {
  it('カラム定義: the content moves to another table, with the recipient encrypted', async () => {
    const stored = await flow.row('f-email');
    for (const column of ['recipient_address', 'subject', 'message_body']) expect(stored).not.toHaveProperty(column);
    expect(await flow.dump()).not.toContain('yamada.taro@example.com');
  });

  it('サンプルデータ: rows of its own table are imported, kept or retried by their own limits', async () => {
    const common = { tenant_id: 'HIS', message_body: '本文', max_retry_count: 3, subject: null, sent_at: null };
    const times = { scheduled_at: '2026-06-01 09:00:00', created_at: new Date().toISOString() };
    const sent = { notification_type: 'EMAIL', recipient_address: 'taro@example.com', send_status: 'SUCCESS' };
    const details = '{"error":"channel_not_found"}';
    const failed = { notification_type: 'SLACK', recipient_address: '#missing', integration_config_id: 'local-slack' };
    const answer = { send_status: 'FAILED', response_code: '404', error_details: details };
    const file = join(flow.directory, 'his.json');
    const rows = [
      { ...common, ...times, ...sent, id: 'HIS1', sent_at: '2026-06-01 10:30:15', priority_level: 'MEDIUM' },
      { ...common, ...times, ...failed, ...answer, id: 'HIS2', send_attempts: 3, priority_level: 'HIGH' },
    ];
    writeFileSync(file, JSON.stringify(rows));
    expect(await flow.opsJson('rows', 'import', file, '--tenant', 'HIS')).toMatchObject({ sent: 1, kept: 1 });
    await eventually(async () => (await flow.row('HIS1'))['history_bucket']);
    expect((await flow.job('--tenant=HIS', '--wait')).outcomes).toEqual({ FAILED: 1 });
    // 業務ルール: no more than max_retry_count + 1; error_details as JSON, and the writer's beside ours.
    expect(await flow.row('HIS2')).toMatchObject({ send_attempts: 4, failure_reason: 'INVALID_RECIPIENT' });
    const { notification } = await flow.opsJson<{ notification: Record<string, string> }>('show', 'HIS2');
    expect(notification).toMatchObject({ writer_error_details: details });
    expect(JSON.parse(notification['error_details'] ?? '')).toMatchObject({ type: 'INVALID_RECIPIENT' });
  });

  it.each([
    ['notification', ['--search', 'NOTIF-h-1']],
    ['tenant_status', ['--status', 'SUCCESS']],
    ['type', ['--channel', 'webhook', '--status', 'SUCCESS']],
    ['scheduled', ['--scheduled-from', '2026-07-01T00:00:00Z', '--scheduled-to', '2026-07-02T00:00:00Z']],
    ['sent', ['--sent-from', '1h', '--status', 'SUCCESS']],
    ['status_attempts', ['--status', 'SUCCESS', '--attempts', '2']],
    ['priority', ['--priority', 'important', '--scheduled-from', '2026-07-01T00:00:00Z']],
  ])('インデックス定義: finds a row by idx_notification_log_%s', async (_, lookup) => {
    if ((await flow.row('h-1'))['log_id'] === undefined) {
      const scheduled_at = '2026-07-01 10:00:00';
      await flow.put([row('h-1', { tenant_id: 'INDEX', priority_level: 'HIGH', scheduled_at })]);
      expect((await flow.job('--tenant=INDEX', '--wait')).outcomes).toEqual({ SUCCESS: 1 });
    }
    const { notifications } = await flow.opsJson<{ notifications: object[] }>('list', '--tenant', 'INDEX', ...lookup);
    expect(notifications).toMatchObject([{ log_id: 'h-1' }]);
  });

  it('制約定義: a row that breaks a rule is set aside with column and rule, and holds up no other', async () => {
    await flow.put([row('f-bad', { notification_type: 'FAX' }), row('f-good')]);
    expect((await flow.job('--wait')).outcomes).toEqual({ SUCCESS: 1 });
    expect(await flow.row('f-bad')).toMatchObject({
      send_status: 'FAILED',
      error_type: 'FORMAT_ERROR',
      error_message: expect.stringContaining('notification_type breaks chk_notification_log_type'),
    });
  });

  it('業務ルール: past its time a pending one expires, and a delivered one is not sent again', async () => {
    await flow.put([row('b-late', { send_status: 'PENDING', send_attempts: 0, scheduled_at: '2026-01-01 09:00:00' })]);
    await flow.job('--wait');
    expect(await flow.row('b-late')).toMatchObject({ send_status: 'FAILED', failure_reason: 'EXPIRED' });
    expect(await flow.received('log_id=b-late')).toEqual([]);
    expect((await flow.ops('retry', 'f-webhook')).stdout).toContain('delivered already');
  });

  it('特記事項: a row is kept for two years', async () => {
    const { expires_at, created_at } = await flow.row('f-webhook');
    const days = (Number(expires_at) - Date.parse(String(created_at)) / 1_000) / 86_400;
    expect(Math.round(days)).toBe(730);
  });

  it('カラム定義 暗号化必須: recipient, subject and body are in no log, queue or dead letter', async () => {
    await flow.put([
      row('p-1', { notification_type: 'EMAIL', recipient_address: PRIVATE.recipient, message_body: PRIVATE.body }),
      row('p-2', {
        recipient_address: flow.at(`/webhook/unauthorized/${PRIVATE.recipient}`),
        message_body: PRIVATE.body,
      }),
    ]);
    await flow.job('--wait');
    expect(await flow.row('p-1')).toMatchObject({ send_status: 'SUCCESS' });
    expect(await flow.row('p-2')).toMatchObject({ failure_reason: 'AUTH_FAILED' });
    const logs = flow.logs();
    expect(logs).toContain('"log_id":"p-1"');
    for (const secret of [PRIVATE.recipient, PRIVATE.body, '【お知らせ】']) expect(logs).not.toContain(secret);
    expect(await flow.dump()).not.toContain(PRIVATE.recipient);
  });
});
