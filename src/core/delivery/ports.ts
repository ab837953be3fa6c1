import type { Channel, Routed } from '../model/channels.ts';
import type { ErrorType, ProviderErrorType } from '../model/error-types.ts';
import type { NotificationContent, NotificationRow, RecipientType, RetryRecord } from '../model/notification.ts';
import { ExplainedError } from '../model/problem.ts';
import type { QueueMessage } from '../model/queue-message.ts';
import type { RowChange } from '../model/row-change.ts';

/**
 * NotificationLog, as delivery needs it. Each call is for one notification; the adapter gathers the calls of a batch. A
 * write that was applied and is repeated, because its answer was lost, is answered like the first time.
 */
export interface ClaimStore {
  /**
   * Claims the row if it is due as the message says, has its channel and tenant, is neither claimed nor delivered, and
   * has an attempt left.
   * @param claim_id a token of this claim alone
   * @returns the row as claimed or, without a claim, as it is; no row when there is none
   */
  claim(
    message: QueueMessage,
    claim_until: string,
    claim_id: string,
  ): Promise<{ claimed: boolean; row?: NotificationRow }>;
  read(log_id: string): Promise<NotificationRow | undefined>;
  /** False unless the state, and what events and its writer say of further attempts, are still as they were read. */
  change(row: NotificationRow, change: RowChange): Promise<boolean>;
  /** Ends the attempt that the row was claimed for; returns false if the claim was lost. */
  settle(row: NotificationRow, change: RowChange): Promise<boolean>;
}

/** A call rejects within seconds without an answer: the worker needs the rest of its time for the row. */
export interface RecordStore {
  /** Puts the record unless its attempt has one. @returns false when it has another one, which stays as it is */
  putIfAbsent(record: RetryRecord): Promise<boolean>;
  /**
   * Puts the record in place of one that was read. A write that was given up may be applied at any time later: it must
   * not replace what has been written since. @returns false when another one is there, which stays as it is
   */
  replace(record: RetryRecord, read: RetryRecord): Promise<boolean>;
  find(log_id: string, attempt: number): Promise<RetryRecord | undefined>;
}

/** The lanes, as delivery needs them: a near retry is queued at once. */
export interface RetryQueue {
  /** @param delay_seconds 0…900 */
  send(message: QueueMessage, delay_seconds: number): Promise<void>;
}

/** NotificationLog, as an operator's commands need it. */
export interface RowStore {
  read(log_id: string): Promise<NotificationRow | undefined>;
  /** Applies the change if status, attempt and place in the work index are as they were read, else returns false. */
  change(row: NotificationRow, change: RowChange): Promise<boolean>;
}

export interface ContentStore {
  /**
   * Rejects within seconds without an answer. Content of a row that was redriven near its end is kept as long as the row.
   * @throws ContentUnreadableError when no retry will help
   */
  read(row: Pick<NotificationRow, 'log_id' | 'tenant_id' | 'expires_at' | 'life'>): Promise<NotificationContent>;
}

/** The content will never become readable. The message says why, without quoting the content. */
export class ContentUnreadableError extends ExplainedError {
  override readonly name = 'ContentUnreadableError';
}

/** How often a change is tried when others keep changing the row between its read and its write. */
export const CHANGE_TRIES = 3;

/** The provider may be called. */
interface MaySend {
  readonly do: 'send';
  /** What is refused for its rate is reserved for when it comes back: it need not wait longer than the limit lasts. */
  readonly paced?: true;
  /** Takes note of the answer. @returns whether the provider is down, so that a failure is not the notification's. */
  report(result: SendResult): Promise<boolean>;
}

/**
 * What holds a notification: the breaker of its provider, by its providerKey, the budget of its channel, content that its
 * writer has put into the row and that is not stored yet, storage that fails, or a worker whose time is nearly over.
 */
export type Holder =
  | { readonly breaker: string }
  | { readonly budget: string }
  | { readonly content: 'replaced' }
  | { readonly storage: string }
  | typeof OUT_OF_TIME;

export const OUT_OF_TIME = { worker: 'out of time' } as const;

/** The attempt is not made now, for what `by` names: the notification waits. */
export interface Held {
  readonly do: 'hold';
  /** ISO-8601 UTC. */
  readonly until: string;
  /** When another attempt is worth a try at the soonest: one that must not wait until `until` gets its last chance then. */
  readonly soonest?: string;
  /** The provider's last failure; where `by` is no breaker, what stands for it. */
  readonly error_type: ErrorType;
  readonly by: Holder;
}

/** Whether a claimed notification's provider may be called now. */
export type Admission = MaySend | Held;

/** Keeps attempts from a provider that is down or takes no more now. Never rejects. */
export interface ProviderGate {
  /** @param named somebody asks for this one: no breaker holds it, and its answer counts like a probe's. */
  admit(row: NotificationRow, named: boolean): Promise<Admission>;
  /** Whether it would hold the provider's notifications now, as far as it knows without asking anyone. */
  holds?(provider: Routed): boolean;
}

const send: MaySend = { do: 'send', report: async () => false };

/** Admits everything: for notifications whose provider is unknown. */
export const PASS_THROUGH: ProviderGate = { admit: async () => send };

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
