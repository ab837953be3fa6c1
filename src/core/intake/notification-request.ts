import type { Channel } from '../model/channels.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { MessageFormat, RecipientType } from '../model/notification.ts';
import type { Priority } from '../model/priorities.ts';

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

/** A failed send that the producer made itself. */
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
  /** SHA-256 of the canonical request. */
  readonly request_hash: string;
  /** The log_id that the tenant, the endpoint and the key stand for. @param generation from 0 */
  readonly logId: (generation: number) => string;
}
