import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { rowFaults } from '../../src/core/indexing/row-rules.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { PRIORITIES } from '../../src/core/model/priorities.ts';
import type { DemoReport, Finding } from '../../src/local/demo/demo-report.ts';
import { describeDemo } from '../../src/local/demo/demo-summary.ts';
import { scriptedAnswerTo } from '../../src/local/providers/scripted-answer.ts';
import { SAMPLE_COUNT } from '../../src/local/samples/first-run.ts';
import { SAMPLE_OUTCOMES, sampleRows } from '../../src/local/samples/sample-rows.ts';

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
    endpoints: { dynamodb: 'D', sqs: 'Q', ses: 'MAIL', api: 'A', console: 'CONSOLE', simulator: 'SIM' },
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
  const describeReport = (report: Partial<DemoReport>) =>
    describeDemo(
      {
        counts: { email: none, slack: none, teams: none, webhook: none },
        examples: {},
        deadLetters: { email: 0, slack: 0, teams: 0, webhook: 0 },
        ...report,
      },
      endpoints,
      pc.createColors(false),
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
    expect(text).toMatch(/3 dead letters: (.|\n)*remove the\n +cause .*SECRETS/);
    expect(text).toContain('npm run ops -- dlq redrive --channel slack --local');
  });

  it('says where to look next, and does not mention dead letters when there are none', () => {
    const text = describeReport({});
    for (const place of ['CONSOLE', 'MAIL', 'SIM/_received', 'LOG', 'LOGS']) expect(text).toContain(place);
    expect(text).not.toContain('dead letters:');
  });
});
