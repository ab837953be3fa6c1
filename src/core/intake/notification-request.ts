import type { Channel } from '../model/channels.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { MessageFormat, RecipientType } from '../model/notification.ts';
import type { Priority } from '../model/priorities.ts';

/** A notification that a producer hands over, checked and with its defaults. Attribute names are the API's. */
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
  /** ISO-8601 UTC with milliseconds. */
  readonly scheduled_at?: string;
  readonly max_retry_count?: number;
  /** Where it goes on when this channel has failed for good. */
  readonly fallback?: Fallback;
  /** The producer sent it by itself and failed: attempt 0. */
  readonly failed_attempt?: FailedAttempt;
}

export interface Fallback {
  readonly channel: Channel;
  readonly recipient: string;
  readonly integration_config_id?: string;
}

/** A send that its producer made by itself, without success. */
export interface FailedAttempt {
  readonly error_type: ProviderErrorType;
  readonly response_code?: string;
  /** Without address, body or credential. */
  readonly response_message?: string;
  /** ISO-8601 UTC with milliseconds; absent: now. */
  readonly attempted_at?: string;
}
