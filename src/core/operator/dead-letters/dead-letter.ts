import { type ClaimPlan, isLetter, planClaim } from '../../delivery/claim-plan.ts';
import type { RowStore } from '../../delivery/ports.ts';
import { GIVEN_UP } from '../../delivery/transitions/without-attempt.ts';
import type { Channel } from '../../model/channels.ts';
import { type ErrorType, errorTypeIn } from '../../model/error-types.ts';
import type { NotificationRow } from '../../model/notification.ts';
import { type QueueMessage, runOf } from '../../model/queue-message.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import { describeFaults, failedAt, stateOf } from '../../model/row-state.ts';
import { withoutAddresses } from '../../model/text.ts';
import type { Clock } from '../../model/time.ts';
import type { RowFault } from '../../model/work-index.ts';
import { workFaults } from '../../model/work-rules.ts';
import { changeRow } from '../retry-now.ts';

export interface DeadLetter {
  readonly message_id: string;
  readonly sent_at: Date;
  /** Number of deliveries, including those to an operator who looked at it. */
  readonly receive_count: number;
  /** Absent when the body is not a message of this service. */
  readonly message?: QueueMessage;
}

/** What a redrive of the dead letter would do, and why. */
export interface DeadLetterView {
  readonly log_id?: string;
  readonly tenant_id?: string;
  readonly priority?: string;
  readonly message_id: string;
  readonly sent_at: string;
  readonly receive_count: number;
  readonly run_id?: string;
  /**
   * `redrive`: the redrive starts the notification's retries anew. `stale`: the notification has moved on, so the
   * redriven message is dropped, or must not be sent any more, so that the message only ends it. `unreadable`: not a message of this service.
   */
  readonly state: 'redrive' | 'stale' | 'unreadable';
  readonly because?: string;
  readonly failure_reason?: ErrorType;
  readonly error_type?: ErrorType;
  /** What kind of job it is: the row's template_id. */
  readonly job_type?: string;
  /** What failed last, in words, without addresses. */
  readonly error_message?: string;
  /** When the notification was given up. Absent if it has moved on. */
  readonly failed_at?: string;
  readonly retryable: boolean;
}

/** Dead notifications that somebody took: an operation, which their rows name, or a person who chose them. */
export interface Taken {
  readonly replay_id?: string | undefined;
  readonly log_ids?: readonly string[] | undefined;
  /** Where their letters are. */
  readonly channels: readonly Channel[];
  /** Only what was sent until then: what the act itself sent may become a letter. */
  readonly cut_off: string;
  /** As many were taken. Each has one letter at most, but for copies. */
  readonly most: number;
}

/** Deletes the letters of what was taken. Never rejects: they are without effect. */
export type DropReplaced = (taken: Taken, isStopping: () => boolean) => Promise<void>;

/** Milliseconds for the letters of chosen notifications. Where thousands lie, one less shows nobody anything. */
const WALK_MS = 20_000;

/** Ends a walk for notifications that were chosen, not found by a filter. */
export function briefly(clock: Clock, isStopping: () => boolean = () => false): () => boolean {
  const end = clock().getTime() + WALK_MS;
  return () => isStopping() || clock().getTime() >= end;
}

export function isTaken({ message }: DeadLetter, row: NotificationRow | undefined, taken: Taken): boolean {
  const { replay_id, log_ids = [] } = taken;
  if (message === undefined) return false;
  return replay_id === undefined ? log_ids.includes(message.log_id) : row?.replay_id === replay_id;
}

/**
 * Whether the letter says nothing any more: its notification was taken, or has no work left, and goes on or has ended
 * without it. A notification that died again since has another letter. SQS may move a message to the DLQ while a worker
 * has it, and the notification dies by it later: what was sent after the cut-off is left.
 */
export function isReplaced(letter: DeadLetter, row: NotificationRow | undefined, taken: Taken): boolean {
  const { message, sent_at } = letter;
  if (message === undefined || row === undefined || sent_at.toISOString() > taken.cut_off) return false;
  const isOver = row.work_queue === undefined;
  return (isOver || isTaken(letter, row, taken)) && !isLetter(row, { ...letter, message });
}

/**
 * Drops a dead letter: its notification leaves `dead#…` if this is its letter. Call it before the message is
 * deleted. A command that crashes in between leaves a message without effect, which can be dropped again. In the other
 * order it would leave a dead notification without a letter. False where others keep changing the row: the message stays.
 */
export async function dropDeadLetter({ message, ...letter }: DeadLetter, rows: RowStore, now: Date): Promise<boolean> {
  if (message === undefined) return true;
  // A row that is attempted at this moment no longer belongs to this letter; one on which an event is noted still does.
  const givenUp = (row: NotificationRow) =>
    stateOf(row, now) === 'dead' && isLetter(row, { ...letter, message }) ? { change: GIVEN_UP } : undefined;
  const { plan, changed } = await changeRow(message.log_id, rows, givenUp);
  return plan === undefined || changed !== undefined;
}

/** By a channel function's rules for a redriven message (docs/decisions/delivery/dead-letters-and-redrive.md). */
export function deadLetterView(
  letter: DeadLetter,
  row: (NotificationRow & { readonly template_id?: unknown }) | undefined,
  now: Date,
  policy: RetryPolicy,
): DeadLetterView {
  const { message, message_id, receive_count } = letter;
  const common = { message_id, sent_at: letter.sent_at.toISOString(), receive_count };
  if (message === undefined) {
    return {
      ...common,
      state: 'unreadable',
      because: 'its body is not a message of this service; drop it',
      retryable: false,
    };
  }
  const { log_id, tenant_id, priority, run_id } = message;
  // SQS gives a redriven message a new id and time.
  const redriven = { message, message_id: `redriven-${message_id}`, sent_at: now, receive_count: 1 };
  const claim = { now, until: now.toISOString(), by: '' };
  const faults = row?.work_queue === undefined ? [] : workFaults(row);
  const state = faults.length > 0 ? malformed(faults) : redriveOf(planClaim(row, redriven, claim, policy));
  return {
    log_id,
    tenant_id,
    priority,
    ...common,
    run_id: runOf(run_id),
    ...state,
    ...(row && reasonsOf(row)),
    ...(row && jobOf(row)),
    retryable: state.state === 'redrive',
  };
}

function malformed(faults: readonly RowFault[]): Pick<DeadLetterView, 'state' | 'because'> {
  return {
    state: 'stale',
    because: `its row is malformed, and a redrive only sets it aside: ${describeFaults(faults)}`,
  };
}

/** Those that a program knows: another one may have written anything. */
function reasonsOf(row: NotificationRow): Partial<DeadLetterView> {
  const failure_reason = errorTypeIn(row.failure_reason);
  const error_type = errorTypeIn(row.error_type);
  return { ...(failure_reason && { failure_reason }), ...(error_type && { error_type }) };
}

/** What `failed_jobs` of retry-and-idempotency-design.md §4 holds of a job. */
function jobOf(row: NotificationRow & { readonly template_id?: unknown }): Partial<DeadLetterView> {
  const { template_id, error_message } = row;
  const failed_at = row.failure_reason === undefined ? undefined : failedAt(row);
  return {
    ...(typeof template_id === 'string' && { job_type: template_id }),
    ...(typeof error_message === 'string' && { error_message: withoutAddresses(error_message) }),
    ...(failed_at !== undefined && { failed_at }),
  };
}

function redriveOf(plan: ClaimPlan): Pick<DeadLetterView, 'state' | 'because'> {
  if (plan.do === 'drop') return { state: 'stale', because: plan.because };
  if (plan.do === 'wait') return { state: 'stale', because: 'another worker holds its claim' };
  return plan.do === 'claim' && plan.forced_dead && plan.skip !== undefined
    ? { state: 'stale', because: `it must not be sent any more (${plan.skip}); a redrive only takes it off the list` }
    : { state: 'redrive' };
}
