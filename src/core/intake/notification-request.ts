import type { Channel, Priority } from '../model/channels.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { MessageFormat, RecipientType } from '../model/notification.ts';
import type { FieldFault } from '../model/problem.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { utf8Bytes } from '../model/text.ts';
import { DAY_MS, epochMs } from '../model/time.ts';

/** A notification that a producer hands over, validated and with its defaults. Attribute names are the API's. */
export interface NotificationRequest {
  readonly channel: Channel;
  readonly priority: Priority;
  readonly recipient: string;
  readonly recipient_type?: RecipientType;
  readonly subject?: string;
  readonly body: string;
  readonly format: MessageFormat;
  readonly integration_config_id?: string;
  readonly notification_id?: string;
  readonly setting_id?: string;
  readonly template_id?: string;
  /** W3C Trace Context, version 00. It does not belong to what a repeat must repeat. */
  readonly traceparent?: string;
  /** ISO-8601 UTC with milliseconds. */
  readonly scheduled_at?: string;
  readonly max_retry_count?: number;
  /** The channel that is used after this one has failed for good. */
  readonly fallback?: Fallback;
  /** The producer sent the notification itself and failed: attempt 0. */
  readonly failed_attempt?: FailedAttempt;
}

interface Fallback {
  readonly channel: Channel;
  readonly recipient: string;
  readonly integration_config_id?: string;
}

export interface FailedAttempt {
  readonly error_type: ProviderErrorType;
  readonly response_code?: string;
  /** Holds no address, body or credential. */
  readonly response_message?: string;
  /** ISO-8601 UTC with milliseconds. Absent means now. */
  readonly attempted_at?: string;
}

/** One request of one producer, with its idempotency key in the form that storage needs. */
export interface IntakeRequest {
  readonly tenant_id: string;
  readonly notification: NotificationRequest;
  /** A keyed hash of the canonical request. */
  readonly request_hash: string;
  /** The log_id that the tenant, the endpoint and the key stand for. @param generation from 0 */
  readonly logId: (generation: number) => string;
}

interface BodyLimit {
  readonly max: number;
  readonly unit: 'characters' | 'bytes';
  readonly because: string;
}

/** The longest body of each channel. A body that the provider would certainly refuse is refused by the API. */
export const BODY_LIMITS: Readonly<Record<Channel, BodyLimit>> = {
  email: { max: 256 * 1024, unit: 'bytes', because: 'of NotificationContent, whose items have at most 400 KB' },
  slack: { max: 40_000, unit: 'characters', because: 'of a Slack message' },
  teams: { max: 27 * 1024, unit: 'bytes', because: 'of a Teams message, about 28 KB including its card' },
  webhook: { max: 256 * 1024, unit: 'bytes', because: 'of NotificationContent, whose items have at most 400 KB' },
};

/** @param of whose channel it is: the fallback sends the same body, so it must accept its length, too */
export function bodyFault(channel: Channel, body: string, of: 'body' | 'fallback' = 'body'): FieldFault | undefined {
  const { max, unit, because } = BODY_LIMITS[channel];
  if ((unit === 'bytes' ? utf8Bytes(body) : [...body].length) <= max) return undefined;
  const most = `at most ${max} ${unit}, the limit ${because}`;
  return of === 'body'
    ? { path: 'body', rule: `max_${unit}`, message: `must have ${most}` }
    : {
        path: 'fallback.channel',
        rule: `max_${unit}`,
        message: `must be a channel for this body: ${channel} takes ${most}`,
      };
}

interface Route {
  readonly channel: Channel;
  readonly recipient: string;
  /** By which its messages go; whether there is one decides. */
  readonly integration_config_id?: unknown;
}

/**
 * What the channel can never take, as far as the request shows it without the integration's secret. Plain http is for
 * receivers on this machine, to which only the local runtime posts.
 * @param isAddress whether it is one e-mail address as SES takes it
 */
export function routeFault(
  { channel, recipient, integration_config_id }: Route,
  isAddress: (text: string) => boolean,
  of = '',
): FieldFault | undefined {
  const path = `${of}recipient`;
  if (channel === 'email') {
    const message = 'must be one e-mail address: ASCII characters, an @ sign, and a domain';
    return isAddress(recipient) ? undefined : { path, rule: 'email', message };
  }
  if (integration_config_id !== undefined || isTarget(recipient)) return undefined;
  if (channel === 'webhook' || recipient.includes('://')) {
    return { path, rule: 'url', message: 'must be an https URL without a user name or password' };
  }
  const message = `is required, unless recipient is the URL of ${channel === 'slack' ? 'an incoming webhook' : 'a workflow'}`;
  return { path: `${of}integration_config_id`, rule: 'required', message };
}

function isTarget(text: string): boolean {
  const url = URL.parse(text.trim());
  if (url === null || url.username !== '' || url.password !== '') return false;
  return (
    url.protocol === 'https:' || (url.protocol === 'http:' && /^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname))
  );
}

/** A row lives two years. A later scheduled time would leave too little of them for its history. */
const LATEST_DAYS = 365;

/**
 * A notification whose scheduled time has passed is expired (his-notification-log-table.md, 業務ルール). The time counts as
 * passed when the retry window of the priority, counted from that time, is over. So a notification that spent an hour
 * in a producer's spool is still sent at once, and one that is no longer useful is refused.
 */
export function scheduleFault(
  { scheduled_at, priority }: Pick<NotificationRequest, 'scheduled_at' | 'priority'>,
  now: Date,
  policy: RetryPolicy,
): FieldFault | undefined {
  if (scheduled_at === undefined) return undefined;
  const path = 'scheduled_at';
  const window = policy.priorities[priority].retention_ms;
  if (epochMs(scheduled_at) + window < now.getTime()) {
    const hours = window / 3_600_000;
    return {
      path,
      rule: 'expired',
      message: `must not be more than ${hours} h ago, the retry window of the priority ${priority}`,
    };
  }
  if (epochMs(scheduled_at) > now.getTime() + LATEST_DAYS * DAY_MS) {
    return { path, rule: 'max_days_ahead', message: `must be within ${LATEST_DAYS} days from now` };
  }
  return undefined;
}
