import type { Channel } from '../../core/model/channels.ts';
import type { RecipientType } from '../../core/model/notification.ts';
import { PRIORITIES, type Priority } from '../../core/model/priorities.ts';
import { SAMPLE_INTEGRATIONS } from '../runtime/secrets-file.ts';
import { SAMPLE_TEXTS } from './sample-texts.ts';

/** A row as BATCH-951 leaves it: only columns of his-notification-log-table.md, `log_id` for its `id`, and `priority`. */
export type SampleRow = Readonly<Record<string, string | number | boolean | null>>;

/** How a sample fares, and how many out of a hundred fare so. */
export interface Fate {
  readonly name:
    | 'delivered'
    | 'delivered later'
    | 'rate limited'
    | 'wrong recipient'
    | 'needs an operator'
    | 'exhausted';
  readonly share: number;
}

export const FATES: readonly Fate[] = [
  { name: 'delivered', share: 70 },
  { name: 'delivered later', share: 12 },
  { name: 'rate limited', share: 4 },
  { name: 'wrong recipient', share: 6 },
  { name: 'needs an operator', share: 4 },
  { name: 'exhausted', share: 4 },
];

/**
 * Failed notifications over all channels and priorities. Their recipients are scripts of the simulated providers
 * (simulator/script.ts), so that each meets its fate.
 * @param now when the sender failed: a minute before
 */
export function sampleRows(count: number, simulator: string, now: Date): SampleRow[] {
  const channels = Object.keys(RECIPIENTS) as Channel[];
  return Array.from({ length: count }, (_, index) => {
    const channel = channels[index % channels.length] ?? 'email';
    const priority = PRIORITIES[Math.floor(index / channels.length) % PRIORITIES.length] ?? 'normal';
    // By channel and priority in turn, so that every fate meets every channel early on.
    const turn = Math.floor(index / channels.length);
    return row(index, channel, priority, fateOf((turn * 37 + (index % channels.length) * 11) % 100), simulator, now);
  });
}

function fateOf(percentile: number): Fate['name'] {
  let end = 0;
  for (const { name, share } of FATES) {
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

/** The script word for a fate. */
const WORDS: Readonly<Record<Fate['name'], string>> = {
  delivered: 'ok',
  'delivered later': 'flaky-1',
  'rate limited': 'rate-limit-3',
  'wrong recipient': 'missing',
  'needs an operator': 'unauthorized',
  exhausted: 'status-503',
};

function row(
  index: number,
  channel: Channel,
  priority: Priority,
  fate: Fate['name'],
  simulator: string,
  now: Date,
): SampleRow {
  const recipient = RECIPIENTS[channel];
  const text = SAMPLE_TEXTS[index % SAMPLE_TEXTS.length] ?? { subject: '', body: '-', format: 'PLAIN' };
  const failed = new Date(now.getTime() - 60_000).toISOString();
  const revoked = fate === 'needs an operator' && channel === 'slack';
  const integration = revoked ? SAMPLE_INTEGRATIONS.slackRevoked : recipient.integration;
  return {
    log_id: `sample-${String(index + 1).padStart(4, '0')}`,
    tenant_id: `TENANT${String((index % 3) + 1).padStart(3, '0')}`,
    is_deleted: false,
    notification_id: `NOTIF-${1000 + index}`,
    notification_type: channel.toUpperCase(),
    priority,
    recipient_type: recipient.type,
    recipient_address: recipient.address(revoked ? 'ok' : WORDS[fate], simulator, index),
    subject: text.subject,
    // Slack and Teams are told nothing but the text: a number keeps two notifications from being the same.
    message_body: `${text.body}\n\n#${index + 1}`,
    message_format: text.format,
    send_status: 'FAILED',
    send_attempts: 1,
    // One that is at its last retry: it fails, and waits for an operator.
    ...(fate === 'exhausted' ? { max_retry_count: 1 } : {}),
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
