import type { NotificationRow } from '../model/notification.ts';
import type { Origin, ReceivedMessage } from '../model/queue-message.ts';
import type { Holder } from './ports.ts';
import type { SendResult } from './sender.ts';
import type { Verdict } from './verdict.ts';

/** An attempt that has ended, with or without a send. */
export interface EndedAttempt extends Origin {
  /** The row as claimed for the attempt. */
  readonly row: NotificationRow;
  readonly first_attempt_at: string;
  readonly counted: boolean;
  readonly run_id: string;
  /** The message that asked for the attempt: the letter of a notification that dies. Absent: none did. */
  readonly received?: ReceivedMessage;
  readonly started: Date;
  readonly ended: Date;
  /** The provider's answer; absent when nothing was sent. */
  readonly result?: SendResult;
  /** What held the attempt. */
  readonly held_by?: Holder;
  readonly verdict: Verdict;
}
