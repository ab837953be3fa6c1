import { recordOf, settlementOf } from '../delivery/settlement.ts';
import { judge, type Verdict } from '../delivery/verdict.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { messageFor, newRunId } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { epochMs } from '../model/time.ts';
import { fnv1a } from '../model/work-index.ts';
import type { FailedAttempt } from './notification-request.ts';
import type { PublicState } from './public-state.ts';

/** A producer's own failed send, judged as an attempt of ours would be. */
export interface JudgedSend {
  readonly verdict: Verdict;
  readonly record: RetryRecord;
  /** What settles the row; absent where that is left to the lane's function. */
  readonly change?: RowChange;
}

/** When the send was made: what a producer's fast clock says of the future is now. */
export function attemptedAt({ attempted_at }: FailedAttempt, now: Date): Date {
  const given = attempted_at === undefined ? now.getTime() : epochMs(attempted_at);
  return new Date(Math.min(given, now.getTime()));
}

/** Kept in the record: the time as the producer gave it, by which it may tell of the send again. */
function reportOf({ attempted_at }: FailedAttempt) {
  return { reported_by: 'producer', ...(attempted_at !== undefined && { attempted_at }) };
}

/** Whether the record is of this very send, as a producer reported it; without its time no two are the same. */
export function isRecordOf(send: FailedAttempt, { error_details }: RetryRecord): boolean {
  return send.attempted_at !== undefined && error_details === JSON.stringify(reportOf(send));
}

/** What claims a row for the send that its producer made: counted, numbered, due now, its claim run out. */
export function claimForSend(row: NotificationRow, at: Date, now: Date): Partial<NotificationRow> {
  const counted = row.attempts_left > 0;
  return {
    ...claimOf(row, at, now),
    send_attempts: row.send_attempts + (counted ? 1 : 0),
    attempts_left: row.attempts_left - (counted ? 1 : 0),
    last_attempt: row.last_attempt + 1,
  };
}

/** As claimForSend, for a row whose counters have the send in them. */
export function claimOf(row: NotificationRow, at: Date, now: Date): Partial<NotificationRow> {
  return {
    send_status: 'SENDING',
    claim_until: at.toISOString(),
    work_at: now.toISOString(),
    first_attempt_at: row.first_attempt_at ?? at.toISOString(),
  };
}

/**
 * Judges the send (design §5). The draw of the backoff comes from the log_id, so that a request which is worked on twice
 * is judged alike both times.
 *
 * A dead letter needs a message that SQS itself moves (design §6.5), and a fallback its successor (failover.ts). So what
 * is given up is left as if its worker had died after it wrote the record: the lane's function that gets its message
 * finds the record, settles the row by it, and bounces the message into the dead-letter queue, or fails over.
 * @param claimed the row with claimForSend's or claimOf's changes
 */
export function judgeSend(claimed: NotificationRow, send: FailedAttempt, now: Date, policy: RetryPolicy): JudgedSend {
  const started = attemptedAt(send, now);
  const first_attempt_at = claimed.first_attempt_at ?? started.toISOString();
  const { error_type, response_code, response_message = '' } = send;
  const result = {
    ok: false,
    error_type,
    message: response_message,
    details: reportOf(send),
    ...(response_code !== undefined && { response_code }),
  } as const;
  const draw = fnv1a(`${claimed.log_id}#${claimed.last_attempt}`) / 2 ** 32;
  const verdict = judge(result, { row: claimed, first_attempt_at, now }, policy, () => draw);
  // Of no message: the record has to be the same by whomever it is written.
  const run_id = newRunId('intake', claimed.log_id);
  const message = messageFor(claimed, now.toISOString(), run_id);
  const ended = {
    row: claimed,
    first_attempt_at,
    counted: claimed.send_attempts > 0,
    trigger: 'sweep',
    received: { message, message_id: '', sent_at: now, receive_count: 1 },
    started,
    ended: started,
    result,
    verdict,
  } as const;
  const record = recordOf(ended);
  const left = verdict.status === 'FAILED' && (verdict.dead_letter || claimed.fallback_channel !== undefined);
  return { verdict, record, ...(!left && { change: settlementOf(ended) }) };
}

/** When the message for a judged row is due: at its retry, or at once to be given up; undefined: none. */
export function messageDue({ verdict, change }: JudgedSend, claimed: NotificationRow): string | undefined {
  if (verdict.status === 'RETRY') return verdict.next_retry_at;
  return change === undefined ? claimed.work_at : undefined;
}

export function stateAfter({ verdict }: JudgedSend): PublicState {
  return verdict.status === 'RETRY' ? 'retrying' : 'failed';
}

/** What is left of a delay, in whole seconds from 0. */
export function secondsUntil(due: string, now: Date): number {
  return Math.max(0, Math.ceil((epochMs(due) - now.getTime()) / 1000));
}
