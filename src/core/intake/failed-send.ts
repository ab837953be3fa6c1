import { recordOf } from '../delivery/retry-record.ts';
import { settlementOf } from '../delivery/transitions/settlements.ts';
import { judge, type Verdict } from '../delivery/verdict.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { newRunId } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { epochMs } from '../model/time.ts';
import { fnv1a } from '../model/work-index.ts';
import type { FailedAttempt } from './notification-request.ts';
import type { PublicState } from './public-state.ts';

/** A failed send that the producer made, judged by the same rules as an attempt of the pipeline. */
export interface JudgedSend {
  readonly verdict: Verdict;
  readonly record: RetryRecord;
  /** The change that settles the row. Absent when the channel function is to settle it. */
  readonly change?: RowChange;
}

/** When the send was made. A time in the future comes from a producer's fast clock and counts as now. */
export function attemptedAt({ attempted_at }: FailedAttempt, now: Date): Date {
  const given = attempted_at === undefined ? now.getTime() : epochMs(attempted_at);
  return new Date(Math.min(given, now.getTime()));
}

/** The record keeps the time as the producer gave it, so that a second report of the same send is recognized. */
function reportOf({ attempted_at }: FailedAttempt) {
  return { reported_by: 'producer', ...(attempted_at !== undefined && { attempted_at }) };
}

/** Whether the record is the report of this send. Two reports without a time are never the same. */
export function isRecordOf(send: FailedAttempt, { error_details }: RetryRecord): boolean {
  return send.attempted_at !== undefined && error_details === JSON.stringify(reportOf(send));
}

/**
 * Judges the send. The random part of the backoff is derived from the log_id, so that a request that is
 * processed twice gets the same verdict both times.
 *
 * A dead letter needs a message that SQS itself moves (docs/decisions/delivery/dead-letters-and-redrive.md), and a
 * fallback needs a successor (failover.ts). Therefore a send that is given up leaves the row as if its worker had crashed
 * after it wrote the record. The channel function that receives the row's message finds the record, settles the row by
 * it, and then moves the message to the dead-letter queue or fails over.
 * @param claimed the row with the changes of claimForSend or claimOf
 */
export function judgeSend(claimed: NotificationRow, send: FailedAttempt, now: Date, policy: RetryPolicy): JudgedSend {
  const started = attemptedAt(send, now);
  const first_attempt_at = claimed.first_attempt_at ?? started.toISOString();
  const { error_type, response_code, response_message = '' } = send;
  // A row that is scheduled begins its window then, and is not retried before.
  const wait_ms = epochMs(first_attempt_at) - now.getTime();
  const result = {
    ok: false,
    error_type,
    message: response_message,
    details: reportOf(send),
    ...(response_code !== undefined && { response_code }),
    ...(wait_ms > 0 && { retry_after_ms: wait_ms }),
  } as const;
  const draw = fnv1a(`${claimed.log_id}#${claimed.last_attempt}`) / 2 ** 32;
  const verdict = judge(result, { row: claimed, first_attempt_at, now }, { policy, random: () => draw });
  const ended = {
    row: claimed,
    first_attempt_at,
    counted: claimed.send_attempts > 0,
    trigger: 'sweep',
    requested_by: 'schedule',
    // Not of a message: every worker that judges this send has to write the same record.
    run_id: newRunId('intake', claimed.log_id),
    started,
    ended: started,
    result,
    verdict,
  } as const;
  const record = recordOf(ended);
  const settledLater = verdict.status === 'FAILED' && (verdict.dead_letter || claimed.fallback_channel !== undefined);
  return { verdict, record, ...(!settledLater && { change: settlementOf(ended) }) };
}

/** When the message for a judged row is due: at its retry, or now if it is to be given up. Undefined: no message. */
export function messageDue({ verdict, change }: JudgedSend, now: string | undefined): string | undefined {
  if (verdict.status === 'RETRY') return verdict.next_retry_at;
  return change === undefined ? now : undefined;
}

export function stateAfter({ verdict }: JudgedSend): PublicState {
  return verdict.status === 'RETRY' ? 'retrying' : 'failed';
}
