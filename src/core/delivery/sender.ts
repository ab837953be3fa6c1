import type { Channel } from '../model/channels.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { NotificationContent, RecipientType } from '../model/notification.ts';

export interface Delivery {
  readonly log_id: string;
  readonly tenant_id: string;
  /** The first send is attempt 0. */
  readonly attempt: number;
  readonly channel: Channel;
  readonly content: NotificationContent;
  readonly recipient_type?: RecipientType;
  readonly integration_config_id?: string;
  /** The tenant chose the integration, so its credential must name this tenant. */
  readonly chosen_by_tenant?: true;
  /** For the receiver: the attempt's span in the producer's trace. */
  readonly traceparent?: string;
  /** The attempt's time, for signatures. */
  readonly at: Date;
}

/** What an integration sets for its own notifications; the stage's policy holds for what it leaves out. */
export interface RetryTerms {
  /** The unit of backoff in milliseconds. */
  readonly base_interval_ms?: number;
  /** Retries after the first send. A limit of the row's own comes before it. */
  readonly max_retries?: number;
}

interface Accepted {
  readonly ok: true;
  /** The provider's own code, at most 20 characters. */
  readonly response_code: string;
  readonly response_message?: string;
  readonly provider_message_id?: string;
}

/** The provider refused the message, or could not be asked. */
export interface Refused {
  readonly ok: false;
  readonly error_type: ProviderErrorType;
  readonly response_code?: string;
  /** A sentence for a person: what failed and where, without address, body or credential. */
  readonly message: string;
  /** Earliest next attempt that the provider asked for, in milliseconds from now. */
  readonly retry_after_ms?: number;
  /** With RATE_LIMITED: which limit of the account is reached, where the provider says so. */
  readonly limit?: 'rate' | 'quota';
  /** False when the attempt costs no retry, whatever its error type; otherwise the error type decides. */
  readonly counted?: boolean;
  /** False when the attempt failed on our side: then it shows nothing about the provider. */
  readonly asked?: false;
  /** The integration's own terms for the next attempt. */
  readonly retry?: RetryTerms;
  /** The raw answer for the retry record: small, JSON-serialisable, without address, body or credential. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export type SendResult = Accepted | Refused;

/**
 * Calls one channel's provider. It makes exactly one call, without retries of its own, and classifies every answer. It
 * rejects only on a defect of ours, which counts as UNKNOWN.
 */
export interface Sender {
  send(delivery: Delivery, signal: AbortSignal): Promise<SendResult>;
  /** Reads a refused credential anew. @returns whether the next send of this delivery uses another one */
  refreshCredential?(delivery: Delivery): Promise<boolean>;
  /** How the delivery's integration wants a failure to be retried. It never rejects. */
  retryTerms?(delivery: Delivery): Promise<RetryTerms | undefined>;
}
