import { type Channel, PRIORITIES, type Priority } from '../../core/model/channels.ts';
import type { MessageFormat, RecipientType } from '../../core/model/notification.ts';
import { SAMPLE_INTEGRATIONS } from '../runtime/secrets-file.ts';

/**
 * A row as BATCH-951 writes it: only columns of his-notification-log-table.md (`log_id` is its `id`), and `priority`.
 */
export type SampleRow = Readonly<Record<string, string | number | boolean | null>>;

/** What happens to a sample. */
export interface SampleOutcome {
  readonly name:
    | 'delivered'
    | 'delivered later'
    | 'rate limited'
    | 'wrong recipient'
    | 'needs an operator'
    | 'exhausted';
  /** Samples with this outcome, per hundred. */
  readonly share: number;
}

export const SAMPLE_OUTCOMES: readonly SampleOutcome[] = [
  { name: 'delivered', share: 70 },
  { name: 'delivered later', share: 12 },
  { name: 'rate limited', share: 4 },
  { name: 'wrong recipient', share: 6 },
  { name: 'needs an operator', share: 4 },
  { name: 'exhausted', share: 4 },
];

/**
 * Failed notifications on all channels with all priorities. A word in each address (providers/scripted-answer.ts) makes
 * the simulated provider answer as the sample's outcome needs.
 * @param now one minute after the sender failed
 */
export function sampleRows(count: number, simulator: string, now: Date): SampleRow[] {
  const channels = Object.keys(RECIPIENTS) as Channel[];
  return Array.from({ length: count }, (_, index) => {
    const channel = channels[index % channels.length] ?? 'email';
    const priority = PRIORITIES[Math.floor(index / channels.length) % PRIORITIES.length] ?? 'normal';
    // Mixes channels and outcomes, so that even a few samples have every outcome on every channel.
    const turn = Math.floor(index / channels.length);
    const outcome = outcomeOf((turn * 37 + (index % channels.length) * 11) % 100);
    return row({ index, channel, priority, outcome }, simulator, now);
  });
}

function outcomeOf(percentile: number): SampleOutcome['name'] {
  let end = 0;
  for (const { name, share } of SAMPLE_OUTCOMES) {
    end += share;
    if (percentile < end) return name;
  }
  return 'delivered';
}

interface Recipient {
  readonly type: RecipientType;
  readonly address: (word: string, simulator: string, index: number) => string;
  readonly integration?: string;
}

const RECIPIENTS: Readonly<Record<Channel, Recipient>> = {
  email: { type: 'USER', address: (word, _, index) => `${word}+${index}@example.com` },
  slack: { type: 'CHANNEL', address: (word) => `#${word}`, integration: SAMPLE_INTEGRATIONS.slack },
  teams: { type: 'CHANNEL', address: (word, simulator, index) => `${simulator}/teams/${word}/${index}` },
  webhook: {
    type: 'WEBHOOK',
    address: (word, simulator, index) => `${simulator}/webhook/${word}/${index}`,
    integration: SAMPLE_INTEGRATIONS.webhook,
  },
};

/** The word in the address that causes an outcome. */
const WORDS: Readonly<Record<SampleOutcome['name'], string>> = {
  delivered: 'ok',
  'delivered later': 'flaky-1',
  'rate limited': 'rate-limit-3',
  'wrong recipient': 'missing',
  'needs an operator': 'unauthorized',
  exhausted: 'status-503',
};

interface Sample {
  readonly index: number;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly outcome: SampleOutcome['name'];
}

function row({ index, channel, priority, outcome }: Sample, simulator: string, now: Date): SampleRow {
  const recipient = RECIPIENTS[channel];
  const text = SAMPLE_TEXTS[index % SAMPLE_TEXTS.length] ?? { subject: '', body: '-', format: 'PLAIN' };
  const failed = new Date(now.getTime() - 60_000).toISOString();
  const revoked = outcome === 'needs an operator' && channel === 'slack';
  const integration = revoked ? SAMPLE_INTEGRATIONS.slackRevoked : recipient.integration;
  return {
    log_id: `sample-${String(index + 1).padStart(4, '0')}`,
    tenant_id: `TENANT${String((index % 3) + 1).padStart(3, '0')}`,
    is_deleted: false,
    notification_id: `NOTIF-${1000 + index}`,
    notification_type: channel.toUpperCase(),
    priority,
    recipient_type: recipient.type,
    recipient_address: recipient.address(revoked ? 'ok' : WORDS[outcome], simulator, index),
    subject: text.subject,
    // Slack and Teams get the text only. The number keeps two notifications from being equal.
    message_body: `${text.body}\n\n#${index + 1}`,
    message_format: text.format,
    send_status: 'FAILED',
    send_attempts: 1,
    // The next attempt is the last one: it fails, and the dead letter waits for an operator.
    ...(outcome === 'exhausted' ? { max_retry_count: 1 } : {}),
    scheduled_at: failed,
    sent_at: null,
    response_code: '503',
    response_message: 'Service Unavailable',
    error_details: '{"error":"first send failed"}',
    ...(integration === undefined ? {} : { integration_config_id: integration }),
    created_at: failed,
    updated_at: failed,
    created_by: 'BATCH-951',
    updated_by: 'BATCH-951',
  };
}

/** Texts of the sample notifications, in both languages of the source documents and in all three formats. */
const SAMPLE_TEXTS: readonly { readonly subject: string; readonly body: string; readonly format: MessageFormat }[] = [
  {
    subject: '【スキル更新】佐々木さんのスキル情報が更新されました',
    body: '佐々木さん\n\n次のスキルが更新されました。\n\nスキル: TypeScript\n更新者: 小林\n\n※このメールは自動送信です。',
    format: 'PLAIN',
  },
  {
    subject: 'Your certificate expires in two weeks',
    body: '<p>Hello,</p><p>the certificate <b>AWS Developer</b> expires on <i>5 December</i>.<br>Please renew it.</p>',
    format: 'HTML',
  },
  {
    subject: '目標期限のお知らせ',
    body: '**期限が近づいています**\n\n- 目標: 基本情報技術者試験\n- 残り日数: 14日\n- 進捗率: 60%\n\n[詳細を見る](https://example.com/goals/7)',
    format: 'MARKDOWN',
  },
  {
    subject: 'Nightly import failed',
    body: 'The import of *employees.csv* stopped at line 1,204.\n\n1. Open [the report](https://example.com/imports/88)\n2. Correct the line\n3. Start it again',
    format: 'MARKDOWN',
  },
  {
    subject: '【重要】システムメンテナンスのご案内 🔧',
    body: '明日 2:00〜4:00 の間、勤怠管理システムを停止します。\nご不便をおかけしますが、よろしくお願いいたします。',
    format: 'PLAIN',
  },
];
