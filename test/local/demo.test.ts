import { describe, expect, it } from 'vitest';
import { describeEmail } from '../../src/batch/sending-job/email-report.ts';
import { rowFaults } from '../../src/core/indexing/row-rules.ts';
import { CHANNELS, PRIORITIES } from '../../src/core/model/channels.ts';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { type NewsletterReport, SAMPLE_MEMBERS, sampleMembers } from '../../src/local/demo/demo-newsletter.ts';
import { type DemoReport, describeDemo, type Finding, findingOf } from '../../src/local/demo/demo-summary.ts';
import { scriptedAnswerTo } from '../../src/local/providers/scripted-answer.ts';
import { SAMPLE_COUNT } from '../../src/local/samples/first-run.ts';
import { SAMPLE_OUTCOMES, sampleRows } from '../../src/local/samples/sample-rows.ts';
import { COLORS, printable } from '../../src/terminal/printable.ts';

const rows = sampleRows(SAMPLE_COUNT, 'http://127.0.0.1:1', new Date('2026-01-01T00:00:00Z'));

describe('the sample data', () => {
  it('breaks none of the rules of the table document', () => {
    expect(rows.flatMap((row) => rowFaults(row))).toEqual([]);
    expect(new Set(rows.map((row) => row['log_id'])).size).toBe(SAMPLE_COUNT);
  });

  it('covers every channel with every priority', () => {
    const pairs = new Set(rows.map((row) => `${row['notification_type']} ${row['priority']}`));
    expect(pairs.size).toBe(CHANNELS.length * PRIORITIES.length);
  });

  it('has success, later success, permanent error and last attempt on every channel', () => {
    for (const channel of CHANNELS) {
      const own = rows.filter((row) => row['notification_type'] === channel.toUpperCase());
      const words = own.map((row) => String(row['recipient_address']).replace(/^.*\/(?:teams|webhook)\/|^#/, ''));
      const first = { attempts: 0, sinceFirstMs: 0 };
      const verdicts = new Set(words.map((word) => scriptedAnswerTo(word, first).answer.kind));
      expect(verdicts, channel).toEqual(new Set(['accept', 'status', 'limit', 'refuse']));
      expect(
        own.some((row) => row['max_retry_count'] === row['send_attempts']),
        channel,
      ).toBe(true);
    }
    expect(SAMPLE_OUTCOMES.reduce((sum, { share }) => sum + share, 0)).toBe(100);
  });

  it('has texts in both languages', () => {
    const subjects = rows.map((row) => String(row['subject']));
    expect(subjects.some((subject) => /[\u3040-\u30ff]/.test(subject))).toBe(true);
    expect(subjects.some((subject) => /^[\x20-\x7e]+$/.test(subject))).toBe(true);
  });
});

it('the sample newsletter has members of every kind, each with an id of its own', () => {
  const members = sampleMembers();
  expect(new Set(members.map(({ member_id }) => member_id)).size).toBe(SAMPLE_MEMBERS);
  const words = new Set(members.map(({ email }) => email.replace(/[+ ].*/, '')));
  expect(words).toEqual(new Set(['reader', 'open', 'click', 'bounce', 'complaint', 'missing', 'flaky-1']));
  expect(new Set(members.map(({ facts }) => facts))).toEqual(new Set([undefined, 'suppressed', 'unsubscribed']));
  const addresses = members.map(({ email }) => email);
  expect(addresses.length - new Set(addresses).size).toBe(2);
});

describe("the demo's summary", () => {
  const none: Record<Finding, number> = {
    delivered: 0,
    'delivered later': 0,
    waiting: 0,
    'permanent error': 0,
    'dead letter': 0,
  };
  const row = (fields: Partial<NotificationRow>): NotificationRow => ({
    log_id: 'n1',
    tenant_id: 't',
    channel: 'webhook',
    priority: 'info',
    send_status: 'FAILED',
    send_attempts: 2,
    attempts_left: 0,
    retry_count: 1,
    last_attempt: 1,
    ...fields,
  });
  const endpoints = {
    pid: 1,
    region: 'us-east-1',
    endpoints: {
      dynamodb: 'D',
      sqs: 'Q',
      ses: 'MAIL',
      api: 'A',
      console: 'CONSOLE',
      simulator: 'SIM',
      outcomes: 'OUT',
    },
    tables: {
      notification_log: 'LOG',
      notification_content: 'C',
      notification_retry_log: 'R',
      pipeline_state: 'P',
      api_keys: 'K',
      newsletters: 'newsletters',
      members: 'members',
      emails: 'emails',
      email_batches: 'email_batches',
      email_recipients: 'email_recipients',
      data_keys: 'D',
      audit: 'AU',
    },
    queues: {} as never,
    functions: {},
    stack: {},
    logs: 'LOGS',
    secrets_file: 'SECRETS',
  };
  const describeReport = (report: Partial<DemoReport> & { readonly newsletter?: NewsletterReport }, width?: number) =>
    printable(
      describeDemo(
        {
          counts: { email: none, slack: none, teams: none, webhook: none },
          examples: {},
          deadLetters: { email: 0, slack: 0, teams: 0, webhook: 0 },
          ...report,
        },
        endpoints,
        COLORS,
        width,
      ),
      false,
    );

  it('counts by channel, and says for each finding what to do about it', () => {
    const text = describeReport({
      counts: { email: none, slack: none, teams: none, webhook: { ...none, delivered: 41, 'dead letter': 3 } },
      deadLetters: { email: 0, slack: 0, teams: 0, webhook: 3 },
      examples: {
        'delivered later': row({ send_status: 'SUCCESS', last_attempt: 2 }),
        'dead letter': row({ failure_reason: 'AUTH_FAILED', error_message: 'the endpoint answered 401' }),
        waiting: row({
          send_status: 'RETRY',
          error_type: 'SERVER_OVERLOAD',
          next_retry_at: '2026-01-01T00:05:00.000Z',
        }),
      },
    });
    expect(text).toMatch(/webhook +41 +0 +0 +0 +3 +3/);
    expect(text).toContain('SUCCESS at retry 2');
    expect(text).toContain('AUTH_FAILED, the endpoint answered 401\n');
    expect(text).toContain("Check the integration's settings and credential");
    expect(text).toContain('Tried again at 2026-01-01T00:05:00.000Z.');
    expect(text).toMatch(/3 dead letters .*\n.*show LOG_ID(.|\n)*Remove the cause .*\n +SECRETS\n/);
    expect(text).toContain('npm run ops -- dlq redrive --channel slack --local');
  });

  it('says why there are more dead than letters, and counts no row as dead that never had one', () => {
    const counts = { email: none, slack: { ...none, 'dead letter': 22 }, teams: none, webhook: none };
    expect(describeReport({ counts, deadLetters: { email: 0, slack: 21, teams: 0, webhook: 0 } })).toContain(
      '1 of the letters is on the way to the DLQ',
    );
    const dead = { failure_reason: 'FORMAT_ERROR', work_at: '2026-01-01T00:00:00.000Z' } as const;
    expect(findingOf(row({ ...dead, work_queue: 'dead#info#1' }))).toBe('dead letter');
    expect(findingOf(row(dead))).toBe('permanent error');
  });

  const view = {
    email_id: 'demo-1',
    newsletter_id: 'weekly',
    status: 'submitted',
    phase: 'submitted',
    email_count: 298,
    created_at: '2026-01-01T00:00:00.000Z',
    counts: {
      recipients: 298,
      pending: 0,
      submitted: 289,
      excluded: 7,
      failed: 2,
      uncertain: 0,
      delivered: 285,
      opened: 52,
      machine_opened: 0,
      clicked: 12,
      machine_clicked: 0,
      bounced: 4,
      soft_bounced: 0,
      complained: 1,
      unsubscribed: 0,
    },
    uncertain_left: 0,
    excluded_by_reason: { suppressed: 3, malformed_address: 2, repeated_address: 2 },
    failed_by_reason: { message_rejected: 2 },
    batches: { pending: 0, submitting: 0, submitted: 2, failed: 0 },
    rate: { now: null, allowed: 199.2 },
  } as const;
  const place = { recipient_id: 'r', batch_id: 'excluded', member_uuid: 'u', events: [] };
  const examples = [
    { ...place, member_id: 'member-063', state: 'excluded', reason: 'suppressed' },
    { ...place, member_id: 'member-058', state: 'failed', reason: 'message_rejected' },
  ] as const;

  it('shows the newsletter: each number with what it takes away, why, and whom, and where to look', () => {
    const text = describeReport({ newsletter: { members: 300, view, examples } });
    expect(text).toContain('What became of the newsletter to 300 members\n');
    expect(text).toMatch(/ +-2 {2}had unsubscribed before/);
    expect(text).toMatch(/ +-3 {2}suppressed, such as member-063\n +→ bounced, complained/);
    expect(text).toMatch(/ +-2 {2}message_rejected, such as member-058\n +→ SES refused/);
    expect(text).toMatch(/ +289 {2}mails that SES took: 285 delivered, 4 bounced\n/);
    // What is taken away and what is left add up to the members, and the mails to their ends.
    const taken = [...text.matchAll(/^ +-(\d+) {2}/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
    expect(300 - taken).toBe(289);
    expect(text).toContain('npm run ops -- emails recipients demo-1 --state excluded --local');
    expect(describeReport({})).not.toContain('newsletter');
  });

  it('adds the outcomes up to all, with the reason beside each', () => {
    const one = { delivered: 40, 'delivered later': 11, waiting: 1, 'permanent error': 3, 'dead letter': 5 };
    const counts = { email: one, slack: one, teams: one, webhook: one };
    const text = describeReport({ counts, deadLetters: { email: 5, slack: 5, teams: 5, webhook: 5 } }, 80);
    expect(text).toContain('What became of the 240 failed notifications');
    const [, story = ''] = /notifications\n((?: +\d+ {2}.+\n)+)/.exec(text) ?? [];
    const told = [...story.matchAll(/^ +(\d+) {2}/gm)].map(([, count]) => Number(count));
    expect(told).toEqual([160, 44, 4, 12, 20]);
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('says why less is allowed than was sent a moment ago', () => {
    const sent = (now: number) => printable(describeEmail({ ...view, rate: { now, allowed: 250.6 } }, true), false);
    expect(sent(490)).toContain('490 per second now, 250.6 allowed (lowered by a refusal)');
    expect(sent(250)).not.toContain('lowered');
    for (const line of sent(490).split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('fits into 80 columns', () => {
    const example = row({ failure_reason: 'MAX_RETRIES', error_message: 'the Teams webhook answered 503 and more' });
    const text = describeReport(
      { newsletter: { members: 300, view, examples }, examples: { 'dead letter': example } },
      80,
    );
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('says where to look next, and does not mention dead letters when there are none', () => {
    const text = describeReport({});
    for (const place of ['CONSOLE', 'MAIL', 'SIM/_received', 'LOG', 'LOGS']) expect(text).toContain(place);
    expect(text).not.toContain('dead letters');
  });
});
