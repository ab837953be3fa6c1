import type { ErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { type Origin, originOf, type QueueMessage, type ReceivedMessage } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { type Clock, epochMs } from '../model/time.ts';
import { parseWorkQueue } from '../model/work-index.ts';
import type { Claim } from './attempt.ts';
import { CLOCK_ERROR_MS } from './policy/attempt-times.ts';
import type { ClaimStore } from './ports.ts';
import { type ClaimTerms, claimedByForce, claimedByRedrive, claimedWhenDue } from './transitions/claims.ts';
import { letterOf } from './transitions/settlements.ts';
import { limitOf, reasonNotToForce, reasonNotToSend } from './verdict.ts';

interface ClaimStep extends Claim {
  readonly do: 'claim';
  readonly change: RowChange;
}

export type ClaimPlan =
  | ClaimStep
  /** The message is obsolete: the attempt that it asks for is settled, or replaced by a later one. */
  | { readonly do: 'drop'; readonly because: string }
  /** Another worker holds a claim: the message comes back (docs/decisions/delivery/claims-and-messages.md#0176). */
  | { readonly do: 'wait'; readonly after_seconds: number }
  /**
   * The message is on its way to the DLQ and has to be bounced until SQS moves it
   * (docs/decisions/delivery/dead-letters-and-redrive.md). `change`: it becomes the letter first.
   */
  | { readonly do: 'dead_letter'; readonly change?: RowChange }
  /** The claim has expired: the worker that held it crashed before it settled. */
  | { readonly do: 'take_over' };

/**
 * Decides what a message may do, given the row as it is. The row of a plain message is claimed
 * without this decision if it is due; this function decides all other cases.
 */
export function planClaim(
  row: NotificationRow | undefined,
  received: ReceivedMessage,
  claim: ClaimTerms,
  policy: RetryPolicy,
): ClaimPlan {
  if (row === undefined) return { do: 'drop', because: 'there is no such notification' };
  if (row.send_status === 'SUCCESS') return { do: 'drop', because: 'it is delivered already' };
  const work = row.work_queue === undefined ? undefined : parseWorkQueue(row.work_queue);
  if (work === undefined || row.work_at === undefined) return { do: 'drop', because: 'no work is left on it' };
  const { message, message_id } = received;
  const dead_letter = work.state === 'dead' && message_id === row.dead_message_id;
  // The row's writer has replaced it since: another lane sends it now
  // (docs/decisions/delivery/claims-and-messages.md#0178).
  const isRouted = row.channel === message.channel && row.tenant_id === message.tenant_id;
  if (!dead_letter && !isRouted) return straggler;
  if (isClaimed(row)) {
    const left_ms = epochMs(row.claim_until ?? '') - claim.now.getTime();
    if (left_ms > 0) return meetClaim(received, left_ms);
    return message.due === row.work_at ? { do: 'take_over' } : straggler;
  }
  return work.state === 'dead' ? planDead(row, received, claim, policy) : planDue(row, received, claim, policy);
}

interface Planning {
  readonly rows: Pick<ClaimStore, 'read'>;
  readonly clock: Clock;
  readonly policy: RetryPolicy;
}

/** The row of a message as it is now, if it is to be claimed for a send; changes nothing. */
export async function rowToSend(received: ReceivedMessage, deps: Planning): Promise<NotificationRow | undefined> {
  const { row, plan } = await planNow(received, deps);
  return plan.do === 'claim' && plan.skip === undefined ? row : undefined;
}

async function planNow(received: ReceivedMessage, { rows, clock, policy }: Planning) {
  const row = await rows.read(received.message.log_id);
  const now = clock();
  return { row, plan: planClaim(row, received, { now, until: now.toISOString(), by: '' }, policy) };
}

/** What a worker would do that receives the message now, by the row as it is; changes nothing. */
export function foresight(deps: Planning) {
  return async (message: QueueMessage) => {
    const received = { message, message_id: message.run_id, sent_at: deps.clock(), receive_count: 1 };
    const { plan } = await planNow(received, deps);
    switch (plan.do) {
      case 'claim':
        return plan.skip === undefined ? SENT : ({ would: 'give_up', why: plan.skip } as const);
      case 'take_over':
        return { ...SENT, why: 'the worker of its last attempt crashed' };
      case 'wait':
        return { ...SKIPPED, why: 'a worker has it now' };
      case 'dead_letter':
        return { ...SKIPPED, why: 'its message is on its way to the dead-letter queue' };
      case 'drop':
        return { ...SKIPPED, why: plan.because };
    }
  };
}

const SENT = { would: 'send' } as const;
const SKIPPED = { would: 'skip' } as const;

export const isClaimed = (row: NotificationRow): boolean => row.send_status === 'SENDING';

/** Seconds until a message comes back that met a claim: most attempts are over by then. */
const CLAIMED_SECONDS = 5;

/**
 * A message that meets a claim waits, whatever it asks for: SQS may have delivered it twice, and the claim may be its
 * own. If the notification dies by that claim, it needs the message as its letter. It may also be the message of a retry,
 * which is queued before its attempt is settled. The second wait lasts until the claim ends, so that the message keeps
 * receives: SQS moves it to the DLQ after five, and its notification may not be dead by then.
 */
export function meetClaim({ receive_count }: ReceivedMessage, left_ms: number): Extract<ClaimPlan, { do: 'wait' }> {
  const left = Math.ceil(left_ms / 1000);
  return { do: 'wait', after_seconds: receive_count === 1 ? Math.min(CLAIMED_SECONDS, left) : left };
}

function planDue(
  row: NotificationRow,
  { message }: ReceivedMessage,
  claim: ClaimTerms,
  policy: RetryPolicy,
): ClaimPlan {
  if (message.due !== row.work_at) return straggler;
  const options = message.options ?? {};
  const limit = options.max_retry_count ?? limitOf(row, policy);
  const left = options.max_retry_count === undefined ? row.attempts_left : Math.max(0, limit + 1 - row.send_attempts);
  const skip = options.force
    ? reasonNotToForce(row)
    : (reasonNotToSend(row, claim.now, policy) ?? (left <= 0 ? 'MAX_RETRIES' : undefined));
  const counted = skip === undefined && left > 0;
  return {
    do: 'claim',
    ...originOf(message),
    counted,
    ...(skip && { skip }),
    change: claimedWhenDue(row, claim, { left, counted }, options.max_retry_count),
  };
}

function planDead(row: NotificationRow, received: ReceivedMessage, claim: ClaimTerms, policy: RetryPolicy): ClaimPlan {
  const { message, message_id } = received;
  if (message_id === row.dead_message_id) return { do: 'dead_letter' };
  const forced = message.options?.force === true && message.due === row.work_at;
  const relation = relationToLetter(row, received);
  if (!forced && relation === 'copy') return { do: 'dead_letter', change: { set: letterOf(row, received) } };
  if (!forced && relation === 'none') return straggler;
  const skip = reasonNotToForce(row);
  return !forced && skip === undefined
    ? { do: 'claim', ...REDRIVE, counted: true, change: claimedByRedrive(row, claim, limitOf(row, policy)) }
    : attemptOnce(row, claim, forced ? { ...originOf(message), trigger: 'manual' } : REDRIVE, skip);
}

const REDRIVE: Origin = { trigger: 'redrive', requested_by: 'operator' };

/** Claims a dead notification for one attempt. With a reason not to send it, it ends by that reason instead. */
function attemptOnce(row: NotificationRow, claim: ClaimTerms, origin: Origin, skip: ErrorType | undefined): ClaimStep {
  const counted = skip === undefined && row.attempts_left > 0;
  return {
    do: 'claim',
    ...origin,
    counted,
    forced_dead: true,
    ...(skip && { skip }),
    change: claimedByForce(row, claim, { left: row.attempts_left, counted }),
  };
}

const straggler: ClaimPlan = { do: 'drop', because: 'the notification has moved on since the message was written' };

/** What a message that is not the letter of a dead row has to do with that letter. */
type RelationToLetter =
  /** An operator redrove the letter. */
  | 'redrive'
  /** A worker sent it in place of the letter, or of an earlier copy, which is deleted or about to be. */
  | 'copy'
  /** Nothing: it was sent before the letter. */
  | 'none';

/** Whether the message is the dead row's letter, a copy, or its redrive: SQS moves each of them to the DLQ in the end. */
export function isLetter(row: NotificationRow, received: ReceivedMessage): boolean {
  return received.message_id === row.dead_message_id || relationToLetter(row, received) !== 'none';
}

/**
 * Only three kinds of message have the run of the letter (docs/decisions/delivery/claims-and-messages.md#0178):
 *
 * | message | sent | relation |
 * |---|---|---|
 * | one that the letter replaced, as a copy | before the letter | none |
 * | an operator's redrive, with the letter's body | after the death | redrive |
 * | a worker's copy, whose `enqueued_at` says when SQS took the message that it replaces | before the death | copy |
 * | the same | after the death | redrive: it replaces one |
 *
 * A copy from before the death is possible because SQS may deliver a message twice: one worker copies and deletes it
 * while the notification dies by the other delivery. The copy becomes the letter then.
 */
function relationToLetter(row: NotificationRow, { message, sent_at }: ReceivedMessage): RelationToLetter {
  const { dead_enqueued_at = '', dead_sent_at = '' } = row;
  const { run_id, enqueued_at = '' } = message;
  if (run_id !== row.dead_run_id) return 'none';
  const isCopy = enqueued_at !== '';
  const hasItsBody = enqueued_at === dead_enqueued_at;
  // A copy of the letter itself, also where a worker's clock has dated the death before SQS took the letter.
  if (isCopy && enqueued_at === dead_sent_at) return 'copy';
  const taken = isCopy && !hasItsBody ? epochMs(enqueued_at) : sent_at.getTime();
  // The death is dated by a worker's clock, messages by that of SQS.
  const died = epochMs(row.work_at ?? '');
  const soonest = died - CLOCK_ERROR_MS;
  // The message that the letter replaced may be in the DLQ, too, and be redriven with the letter. Only one of the two
  // starts the budget anew.
  const isOriginal = !isCopy && !hasItsBody;
  if (taken <= (isOriginal ? died : epochMs(dead_sent_at))) return 'none';
  // A copy whose order the clocks leave open becomes the letter: an operator can redrive that.
  return taken > (isCopy ? died : soonest) ? 'redrive' : 'copy';
}
