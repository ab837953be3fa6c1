import type { Channel } from '../../core/model/channels.ts';
import type { ErrorType } from '../../core/model/error-types.ts';
import type { Priority } from '../../core/model/priorities.ts';

/** One message to one recipient on one channel, as POST /v1/notifications takes it. */
export interface Notification {
  readonly channel: Channel;
  readonly recipient: string;
  readonly body: string;
  /** `normal` unless given. */
  readonly priority?: Priority;
  readonly recipient_type?: string;
  readonly subject?: string;
  /** `PLAIN` unless given. */
  readonly format?: 'PLAIN' | 'HTML' | 'MARKDOWN';
  readonly integration_config_id?: string;
  /** Your own id for it. Two notifications that are meant to be equal need different ones, or different keys. */
  readonly notification_id?: string;
  readonly setting_id?: string;
  readonly template_id?: string;
  /** ISO-8601 with a zone; at once unless given. */
  readonly scheduled_at?: string;
  readonly max_retry_count?: number;
  /** Where it goes once it is given up on its own channel. */
  readonly fallback?: {
    readonly channel: Channel;
    readonly recipient: string;
    readonly integration_config_id?: string;
  };
  /** What became of a send that you made yourself: `reportFailure` sets it. */
  readonly failed_attempt?: FailedAttempt;
}

/** A notification of a batch may bring its idempotency key along: 1–128 visible ASCII characters. */
export interface BatchNotification extends Notification {
  readonly idempotency_key?: string;
}

/** A send that a producer made by itself and that failed. */
export interface FailedAttempt {
  readonly error_type: ErrorType;
  /** The provider's, such as `503`. */
  readonly response_code?: string;
  readonly response_message?: string;
  /** ISO-8601 with a zone; the moment of the report unless given. */
  readonly attempted_at?: string;
}

/** An RFC 9457 problem document of the API. */
export interface Problem {
  /** `urn:notification-retry:problem:<name>`, or `about:blank` when something else than the API answered. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  /** Each wrong field with the rule it breaks. */
  readonly errors?: readonly { readonly path: string; readonly rule: string; readonly message: string }[];
}

/** What became of a notification once `send`, `sendBatch` or `reportFailure` returned. */
export type Result =
  /** The API has it. `repeat`: it had it before, and nothing was doubled. */
  | { readonly state: 'accepted'; readonly log_id: string; readonly repeat: boolean }
  /** It is on this machine's disk in `file`, and a flush will hand it over. `reason` says what was in the way. */
  | { readonly state: 'spooled'; readonly file: string; readonly reason: string }
  /** The API will never take it as it is; it is kept nowhere. */
  | { readonly state: 'refused'; readonly problem: Problem };
