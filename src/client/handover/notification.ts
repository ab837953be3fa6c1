import type { Channel, Priority } from '../../core/model/channels.ts';
import type { ErrorType } from '../../core/model/error-types.ts';

/** One message to one recipient on one channel, in the form of POST /v1/notifications. */
export interface Notification {
  readonly channel: Channel;
  readonly recipient: string;
  readonly body: string;
  /** `normal` by default. */
  readonly priority?: Priority;
  readonly recipient_type?: string;
  readonly subject?: string;
  /** `PLAIN` by default. */
  readonly format?: 'PLAIN' | 'HTML' | 'MARKDOWN';
  readonly integration_config_id?: string;
  /** Your own id. Two notifications with the same content need different ids, or different keys. */
  readonly notification_id?: string;
  readonly setting_id?: string;
  readonly template_id?: string;
  /** W3C Trace Context. It is kept with the notification, and sent on to webhooks. */
  readonly traceparent?: string;
  /** ISO-8601 with a zone; at once by default. */
  readonly scheduled_at?: string;
  readonly max_retry_count?: number;
  /** Where the notification goes after it is given up on its own channel. */
  readonly fallback?: {
    readonly channel: Channel;
    readonly recipient: string;
    readonly integration_config_id?: string;
  };
  /** Your own attempt that failed. `reportFailure` sets this field. */
  readonly failed_attempt?: FailedAttempt;
}

/** A notification of a batch, optionally with an idempotency key of 1–128 visible ASCII characters. */
export interface BatchNotification extends Notification {
  readonly idempotency_key?: string;
}

/** A failed attempt that the producer made itself. */
export interface FailedAttempt {
  readonly error_type: ErrorType;
  /** The code of the provider, such as `503`. */
  readonly response_code?: string;
  readonly response_message?: string;
  /** ISO-8601 with a zone; the time of the report by default. */
  readonly attempted_at?: string;
}

/** An RFC 9457 problem document of the API. */
export interface Problem {
  /** `urn:notification-retry:problem:<name>`; `about:blank` if the answer is not from the API. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  /** Each wrong field, with the rule that it breaks. */
  readonly errors?: readonly { readonly path: string; readonly rule: string; readonly message: string }[];
}

/** The result of `send`, `sendBatch` or `reportFailure` for one notification. */
export type Result =
  /** The API has the notification. `repeat`: the API already had it, and it is not sent twice. */
  | { readonly state: 'accepted'; readonly log_id: string; readonly repeat: boolean }
  /** It is in `file` on this machine's disk, and a flush hands it over. `reason`: why the API has it not. */
  | { readonly state: 'spooled'; readonly file: string; readonly reason: string }
  /** The API will never take this notification, and it is not kept. */
  | { readonly state: 'refused'; readonly problem: Problem };
