import type { Routed } from '../model/channels.ts';
import type { ErrorType } from '../model/error-types.ts';
import type { NotificationContent, NotificationRow, RetryRecord } from '../model/notification.ts';
import { ExplainedError } from '../model/problem.ts';
import type { QueueMessage } from '../model/queue-message.ts';
import type { RowChange } from '../model/row-change.ts';
import type { SendResult } from './sender.ts';

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
interface Admitted {
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

/** The provider is down, or its allowance is used up: the notification waits. */
export interface Held {
  readonly do: 'hold';
  /** ISO-8601 UTC. */
  readonly until: string;
  /** When another attempt is worth a try at the soonest: one that must not wait until `until` gets its last chance then. */
  readonly soonest?: string;
  /** The provider's last failure. */
  readonly error_type: ErrorType;
  readonly by: Holder;
}

/** Whether a claimed notification's provider may be called now. */
export type Admission = Admitted | Held;

/** Keeps attempts from a provider that is down or takes no more now. Never rejects. */
export interface ProviderGate {
  /** @param named somebody asks for this one: no breaker holds it, and its answer counts like a probe's. */
  admit(row: NotificationRow, named: boolean): Promise<Admission>;
  /** Whether it would hold the provider's notifications now, as far as it knows without asking anyone. */
  holds?(provider: Routed): boolean;
}

const send: Admitted = { do: 'send', report: async () => false };

/** Admits everything: for notifications whose provider is unknown. */
export const PASS_THROUGH: ProviderGate = { admit: async () => send };
