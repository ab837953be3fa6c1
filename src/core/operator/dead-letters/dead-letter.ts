import { planClaim } from '../../delivery/claim-plan.ts';
import type { ErrorType } from '../../model/error-types.ts';
import type { NotificationRow } from '../../model/notification.ts';
import type { QueueMessage } from '../../model/queue-message.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';

/** A message in a dead-letter queue. */
export interface DeadLetter {
  readonly message_id: string;
  readonly sent_at: Date;
  /** Deliveries, those by an operator who looked at it included. */
  readonly receive_count: number;
  /** Absent: the body is not one of ours. */
  readonly message?: QueueMessage;
}

/** What a redrive would do for it, and why. */
export interface DeadLetterView {
  readonly log_id?: string;
  readonly tenant_id?: string;
  readonly priority?: string;
  readonly message_id: string;
  readonly sent_at: string;
  readonly receive_count: number;
  readonly run_id?: string;
  /**
   * `redrive`: starts the notification anew. `stale`: its notification has moved on, so a redrive drops it.
   * `unreadable`: not one of ours.
   */
  readonly state: 'redrive' | 'stale' | 'unreadable';
  readonly because?: string;
  readonly failure_reason?: ErrorType;
  readonly error_type?: ErrorType;
}

/** Judged by the same rules that a channel function will judge the redriven message by (design §6.5). */
export function deadLetterView(
  letter: DeadLetter,
  row: NotificationRow | undefined,
  now: Date,
  policy: RetryPolicy,
): DeadLetterView {
  const { message, message_id, receive_count } = letter;
  const common = { message_id, sent_at: letter.sent_at.toISOString(), receive_count };
  if (message === undefined) {
    return { ...common, state: 'unreadable', because: 'its body is not a message of ours; drop it' };
  }
  const { log_id, tenant_id, priority, run_id } = message;
  // SQS gives a redriven message a new id and time.
  const redriven = { message, message_id: `redriven-${message_id}`, sent_at: now, receive_count: 1 };
  const plan = planClaim(row, redriven, { now, until: now.toISOString() }, policy);
  return {
    log_id,
    tenant_id,
    priority,
    ...common,
    run_id,
    ...(plan.do === 'drop' ? { state: 'stale', because: plan.because } : { state: 'redrive' }),
    ...(row?.failure_reason && { failure_reason: row.failure_reason }),
    ...(row?.error_type && { error_type: row.error_type }),
  };
}
