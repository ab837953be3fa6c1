import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { type EmailStatus, NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { BODY, ended, MEMBERS, members } from '../support/newsletter/flow/sent-newsletter.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
let id: string;
let sent: EmailStatus;

beforeAll(async () => {
  await flow.start({ dataDir: `${flow.directory}/data`, sesLimits: { per_second: 400 }, console: false });
  await client.setUp(members);
}, 120_000);
afterAll(() => flow.end(), 60_000);

const job = async (email_id: string) => {
  const args = ['src/batch/batch-sending-service-job.ts', `--email-id=${email_id}`, '--local', '--json'];
  const [script = '', ...rest] = args;
  return promisify(execFile)(process.execPath, [join(PROJECT_ROOT, script), ...rest], { cwd: flow.directory });
};

describe('batch-sending-service-job.md', () => {
  it('処理フロー 1–8: a published email is locked, prepared, sent in batches and submitted, at every read with sums that add up', async () => {
    id = await client.publish({ subject: 'News for {name, "you"}', body: BODY });
    sent = await ended(client, id, 80_000);
    expect(sent).toMatchObject({ status: 'submitted', submitted_at: expect.any(String) });
    const counts = { recipients: MEMBERS, submitted: MEMBERS - 1, failed: 1, uncertain: 0, pending: 0 };
    expect(sent.counts).toMatchObject(counts);
  }, 120_000);

  it('処理フロー 7: each member gets one mail, with headers, tags and values of their own', async () => {
    const receipts = await client.receipts(id);
    const expected = members.map(({ email }) => email).filter((email) => !email.startsWith('missing'));
    expect(receipts.map(({ to }) => to).sort()).toEqual(expected.sort());
    expect(new Set(receipts.map(({ tags }) => `${tags['chunk']} ${tags['n']}`)).size).toBe(MEMBERS - 1);
    expect(receipts[0]?.headers).toEqual({
      'List-ID': '<weekly.T951.example.com>',
      'List-Unsubscribe': expect.stringMatching(/^<http:\/\/127\.0\.0\.1:\d+\/u\/[\w.-]+>$/),
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    });
    expect(receipts.find(({ to }) => to === 'reader+3@example.com')).toMatchObject({ subject: 'News for Reader 3' });
    expect(receipts.find(({ to }) => to === 'reader+4@example.com')).toMatchObject({ subject: 'News for you' });
  });

  it('テーブル別操作詳細: email_batches and email_recipients say what became of each, and when', async () => {
    const { batches } = await client.get<{ batches: readonly object[] }>(`/v1/emails/${id}/batches`);
    expect(batches).toEqual([
      expect.objectContaining({ status: 'submitted', provider_id: expect.any(String), fallback_sending_domain: false }),
    ]);
    const recipients = await client.recipients(id);
    expect(recipients).toHaveLength(MEMBERS);
    for (const { processed_at } of recipients) expect(processed_at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    // Who was refused for the time being has a call, and a time, of its own.
    const at = (begin: string) => recipients.find(({ member_email }) => member_email.startsWith(begin))?.processed_at;
    expect(String(at('flaky')) > String(at('reader+78@'))).toBe(true);
  });

  it('実行可否判定, 入力パラメータ: a second start of the job is skipped, and sends nobody anything again', async () => {
    const { stdout } = await job(id);
    expect(JSON.parse(stdout)).toMatchObject({
      result: 'skipped',
      reason: 'The email is submitted already.',
    });
    expect(await client.receipts(id)).toHaveLength(MEMBERS - 1);
  });

  it('主要な処理内容 2, 備考: an email to a segment goes to its members only', async () => {
    const free = await client.publish({ subject: 'Free', body: 'Hello', segment: 'status:free' });
    await ended(client, free, 60_000);
    const receipts = await client.receipts(free);
    const expected = members.filter((_, i) => i % 2 === 0).map(({ email }) => email);
    expect(receipts.map(({ to }) => to).sort()).toEqual(expected.sort());
  }, 90_000);

  it('前提条件: an email that nobody would get fails, and says so', async () => {
    const none = await client.publish({ subject: 'Nobody', body: 'Hello', segment: 'label:none' });
    expect(await ended(client, none, 30_000)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/nobody|no member/i),
    });
  }, 60_000);

  it('ログ出力: the lines of the document, and no address or name', () => {
    const logs = flow.logs();
    for (const line of [
      /Starting email job for email [\w-]+/,
      /Creating batches for email [\w-]+/,
      /Sending batch \w+ for email [\w-]+/,
    ])
      expect(line.test(logs), String(line)).toBe(true);
    expect(/reader\+\d+@|Reader \d/.test(logs)).toBe(false);
  });
});
