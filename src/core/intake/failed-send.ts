import { judge, type Verdict } from '../judge.ts';
import type { NotificationRow, RetryRecord } from '../notification.ts';
import type { RetryPolicy } from '../retry-policy.ts';
import { recordOf, settlementOf } from '../settlement.ts';
import { epochMs } from '../time.ts';
import { fnv1a } from '../work-index.ts';
import type { FailedAttempt } from './notification-request.ts';

/** A producer's own failed send, judged as an attempt of ours would be. */
export interface JudgedSend {
  readonly verdict: Verdict;
  readonly record: RetryRecord;
  /** The row as it is to stand afterwards. */
  readonly row: NotificationRow;
}

/** The longest answer a provider may ask us to wait is not known of a send that was not ours; clocks differ by this. */
const CLOCK_SKEW_MS = 5 * 60_000;

/** When the send was made: what a producer's fast clock says of the future is now. */
export function attemptedAt({ attempted_at }: FailedAttempt, now: Date): Date {
  const given = attempted_at === undefined ? now.getTime() : epochMs(attempted_at);
  return new Date(Math.min(given, now.getTime()));
}

export function isInFuture({ attempted_at }: FailedAttempt, now: Date): boolean {
  return attempted_at !== undefined && epochMs(attempted_at) > now.getTime() + CLOCK_SKEW_MS;
}

/** The row as it was claimed for the send that its producer made: counted, numbered, its claim run out. */
export function claimedForSend(row: NotificationRow, at: Date): NotificationRow {
  const counted = row.attempts_left > 0;
  return {
    ...row,
    send_status: 'SENDING',
    send_attempts: row.send_attempts + (counted ? 1 : 0),
    attempts_left: row.attempts_left - (counted ? 1 : 0),
    last_attempt: row.last_attempt + 1,
    claim_until: at.toISOString(),
  };
}

/**
 * Judges the send (design §5). The draw of the backoff comes from the log_id, so that a request which is worked on twice
 * is judged alike both times.
 *
 * A dead letter needs a message that SQS itself moves (design §6.5), so what is dead is left as if its worker had died
 * after it wrote the record: the lane's function that gets its message finds the record, settles the row by it, and
 * bounces the message into the dead-letter queue.
 * @param claimed as claimedForSend gives it
 */
export function judgeSend(claimed: NotificationRow, send: FailedAttempt, now: Date, policy: RetryPolicy): JudgedSend {
  const started = attemptedAt(send, now);
  const first_attempt_at = claimed.first_attempt_at ?? started.toISOString();
  const { error_type, response_code, response_message = '' } = send;
  const result = {
    ok: false,
    error_type,
    message: response_message,
    details: { reported_by: 'producer' },
    ...(response_code !== undefined && { response_code }),
  } as const;
  const draw = fnv1a(`${claimed.log_id}#${claimed.last_attempt}`) / 2 ** 32;
  const verdict = judge(result, { row: claimed, first_attempt_at, now }, policy, () => draw);
  const run_id = `intake-${claimed.log_id}`;
  const { log_id, tenant_id, channel, priority } = claimed;
  const message = { version: 1, log_id, tenant_id, channel, priority, due: now.toISOString(), run_id } as const;
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
  if (verdict.status === 'FAILED' && verdict.dead_letter) {
    return { verdict, record, row: { ...claimed, first_attempt_at, work_at: now.toISOString() } };
  }
  const { set, remove = [] } = settlementOf(ended);
  const settled: Record<string, unknown> = { ...claimed, ...set };
  for (const name of remove) delete settled[name];
  return { verdict, record, row: settled as unknown as NotificationRow };
}

/** When the message for a judged row is due: at its retry, or at once to be dead-lettered; undefined: none. */
export function messageDue({ verdict, row }: JudgedSend): string | undefined {
  if (verdict.status === 'RETRY') return verdict.next_retry_at;
  return verdict.status === 'FAILED' && verdict.dead_letter ? row.work_at : undefined;
}

/** What is left of a delay, in whole seconds from 0. */
export function secondsUntil(due: string, now: Date): number {
  return Math.max(0, Math.ceil((epochMs(due) - now.getTime()) / 1000));
}
