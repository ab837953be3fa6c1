import type { ErrorType } from '../model/error-types.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import type { Origin, ReceivedMessage } from '../model/queue-message.ts';
import type { AttemptTrace } from '../model/trace.ts';
import type { Held, Holder, SendResult } from './ports.ts';
import type { Verdict } from './verdict.ts';

/** An attempt at a stage of its life: claimed for a worker, made by it, judged by the retry policy. */
export type Attempt<Stage extends keyof Stages> = Stages[Stage];

interface Stages {
  readonly claimed: {
    /** The row as claimed. */
    readonly row: NotificationRow;
    readonly claim: Claim;
    readonly received: ReceivedMessage;
  };
  readonly made: Stages['claimed'] & {
    readonly started: Date;
    readonly ended: Date;
    readonly outcome: AttemptOutcome;
  };
  /** What its record and the settlement of its row are made of; also of a send that a producer reports. */
  readonly judged: Pick<Claim, keyof Origin | 'counted'> & {
    /** The row as claimed for the attempt. */
    readonly row: NotificationRow;
    readonly first_attempt_at: string;
    readonly run_id: string;
    /** The message that asked for the attempt: the letter of a notification that dies. Absent: none did. */
    readonly received?: ReceivedMessage;
    readonly started: Date;
    readonly ended: Date;
    /** The provider's answer; absent when nothing was sent. */
    readonly result?: SendResult;
    readonly held_by?: Holder;
    /** Of a dead notification whose forced attempt was held: when its message comes again. */
    readonly asked_again_at?: string;
    readonly verdict: Verdict;
  };
}

/** The terms of a claim: what its attempt may do. */
export interface Claim extends Origin {
  /** Whether the attempt uses up one of the attempts left; a forced attempt beyond the limit does not. */
  readonly counted: boolean;
  /** Give up without sending: nothing left of attempts or time, deleted, or pointless by a delivery event. */
  readonly skip?: ErrorType;
  /** An operator forces an attempt on a dead notification, or redrives one that must not be sent. */
  readonly forced_dead?: boolean;
}

export type AttemptOutcome =
  /** Nothing was sent: the notification is given up. */
  | { readonly kind: 'skipped'; readonly reason: ErrorType }
  /** Nothing was sent: an event had shown that an earlier attempt arrived. */
  | { readonly kind: 'arrived' }
  /** Nothing was sent: a breaker is open, a budget or the worker's time is used up, storage fails, or new content is not stored yet. */
  | { readonly kind: 'held'; readonly hold: Held }
  /** `provider_down`: the provider is down, so a failure does not count against the notification. */
  | {
      readonly kind: 'sent';
      readonly result: SendResult;
      readonly provider_down: boolean;
      readonly paced?: true | undefined;
    };

export type Disposition =
  | { readonly do: 'done' }
  /** Report it as failed, to be visible again at once, until SQS moves it to the DLQ. */
  | { readonly do: 'dead_letter' }
  /** Report it as failed, to be visible again after this time. */
  | { readonly do: 'return'; readonly after_seconds: number }
  /** Nothing was done: the attempt of this claim crashed its worker, so the next must not share a worker with others. */
  | { readonly do: 'isolate'; readonly claim_until: string };

/** What happened to one message; carries no address, body or credential. */
export interface DeliveryReport extends DeliveryOutcome {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: string;
  readonly priority: string;
  readonly run_id: string;
}

export interface DeliveryOutcome {
  readonly disposition: Disposition;
  readonly attempt?: number;
  readonly verdict?: Verdict;
  readonly record?: RetryRecord;
  /** The attempt, or the place where one would be, in the trace of its notification. */
  readonly trace?: AttemptTrace;
  /** Why nothing was sent. */
  readonly dropped?: string;
  readonly held_by?: Holder;
  /** The near retry could not be queued; a sweep will find the notification later. */
  readonly requeue_error?: unknown;
  /** The retry record of an accepted attempt could not be written; a sweep repairs it. */
  readonly record_error?: unknown;
  /** A fault of ours or of the storage; the message comes back. */
  readonly error?: unknown;
}
