import type { RetryRecord } from '../model/notification.ts';
import type { Holder } from './ports.ts';
import type { Verdict } from './verdict.ts';

/** What becomes of a queue message. */
export type Disposition =
  | { readonly do: 'done' }
  /** Report it as failed, to be visible again at once, until SQS moves it to the DLQ. */
  | { readonly do: 'dead_letter' }
  /** Report it as failed, to be visible again after so many seconds. */
  | { readonly do: 'return'; readonly after_seconds: number }
  /** Nothing was done: an earlier attempt killed its worker, so this one must not share a worker with others. */
  | { readonly do: 'isolate' };

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
  /** Why nothing was sent. */
  readonly dropped?: string;
  /** What held the attempt. */
  readonly held_by?: Holder;
  /** The near retry could not be queued; a sweep will find the notification later. */
  readonly requeue_error?: unknown;
  /** The retry record of an accepted attempt could not be written; a sweep repairs it. */
  readonly record_error?: unknown;
  /** A fault of ours or of the storage; the message comes back. */
  readonly error?: unknown;
}
