import { CHANGE_TRIES } from '../delivery/ports.ts';
import { correctedBy } from '../delivery/transitions/without-attempt.ts';
import { changeUntil } from '../model/changes.ts';
import { arrived, hasContent, type NotificationContent, type NotificationRow } from '../model/notification.ts';
import { messageFor, type QueuedMessage, type QueueMessage, queuedUntil } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { checkRetry, type RetryCheck } from '../model/row-state.ts';
import type { Clock } from '../model/time.ts';
import { CHANGED, LEFT_TO_SWEEP, NOT_FOUND, OUTRUN } from './retry-now.ts';

/** What an operator puts in place of what a notification has; the rest stays. */
export interface Correction {
  readonly recipient?: string | undefined;
  readonly subject?: string | undefined;
  readonly body?: string | undefined;
  readonly integration_config_id?: string | undefined;
}

/** NotificationLog and NotificationContent, as a correction needs them. */
export interface CorrectionStore {
  read(log_id: string): Promise<NotificationRow | undefined>;
  /**
   * Changes the row, and what is stored of its content, together: no worker meets the one without the other. The content
   * gets the life of the change; a new recipient is sealed, and the row gets its hash. With one, addresses in the records
   * of attempts are masked before.
   * @returns false when the row, or its content, is not as it was read, or no content is stored
   */
  correct(
    row: NotificationRow,
    change: RowChange,
    content: Partial<Pick<NotificationContent, 'recipient' | 'subject' | 'body'>>,
  ): Promise<boolean>;
}

/**
 * Whether a notification can be corrected now: one that waits, is dead or has stopped. One that a worker has, or had when
 * it crashed, may be on its way to its recipient.
 */
export function checkCorrection(row: NotificationRow, to: Correction, now: Date): RetryCheck {
  const check = checkRetry(row, now, 'another');
  if ('refused' in check) return check;
  if (check.state === 'abandoned') return { refused: ABANDONED };
  if (hasContent(row)) return { refused: 'its writer has just changed it; try again in a few seconds' };
  if (arrived(row.delivery_by_attempt)) return { refused: 'it has arrived: its next message settles that' };
  const isWrong = [row.give_up, check.state === 'stopped' && row.failure_reason].includes('INVALID_RECIPIENT');
  // A channel or URL may be right for another integration; an address is not.
  const isElsewhere = to.integration_config_id !== undefined && row.channel !== 'email';
  const isUseless = isWrong && to.recipient === undefined && !isElsewhere;
  return isUseless ? { refused: 'INVALID_RECIPIENT: name another recipient' } : check;
}

const ABANDONED =
  'the worker of its last attempt crashed, and may have sent it; the next sweep ends that attempt: correct it after that';

/**
 * The write that corrects the row. Another life begins: nothing of what was tried before continues or ends it. Its number
 * is beyond any attempt that was claimed, and beyond the life that it has.
 */
export function planCorrection(
  row: NotificationRow,
  correction: Correction,
  terms: { readonly now: Date; readonly policy: RetryPolicy },
): { readonly change: RowChange; readonly due: string } {
  return correctedBy(row, row.last_attempt + 2, correction, terms);
}

export interface CorrectDeps {
  readonly corrections: CorrectionStore;
  /** Returns the messages that could not be sent. */
  readonly send: (messages: readonly QueuedMessage[]) => Promise<readonly QueuedMessage[]>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
}

/** `queued`: due then; without its message a sweep sends it. */
export type CorrectResult =
  | { readonly result: 'queued'; readonly because?: string; readonly due: string; readonly message?: QueueMessage }
  | { readonly result: 'refused' | 'not_found'; readonly because: string };

/**
 * Corrects one notification and sends it, at its time where it is scheduled. The row is changed first: if the command crashes then, the next sweep sends it.
 * @param shown the updated_at that the person has seen: what has changed since is left
 */
export async function correct(
  log_id: string,
  { shown, ...correction }: Correction & { readonly shown?: string | undefined },
  run_id: string,
  { corrections, send, policy, clock }: CorrectDeps,
): Promise<CorrectResult> {
  const { recipient, subject, body } = correction;
  const content = {
    ...(recipient !== undefined && { recipient }),
    ...(subject !== undefined && { subject }),
    ...(body !== undefined && { body }),
  };
  const plan = (row: NotificationRow) => {
    const now = clock();
    const check = checkCorrection(row, correction, now);
    if ('refused' in check) return check;
    if (shown !== undefined && shown !== row.updated_at) return { refused: CHANGED };
    return planCorrection(row, correction, { now, policy });
  };
  const apply = async (row: NotificationRow, planned: ReturnType<typeof plan>) =>
    'refused' in planned || corrections.correct(row, planned.change, content);
  const {
    row,
    plan: planned,
    changed,
  } = await changeUntil(() => corrections.read(log_id), plan, apply, {
    tries: CHANGE_TRIES,
  });
  if (planned === undefined) return { result: 'not_found', because: NOT_FOUND };
  if ('refused' in planned) return { result: 'refused', because: planned.refused };
  if (changed === undefined) return { result: 'refused', because: OUTRUN };
  const { due } = planned;
  const queued = queuedUntil(messageFor(row, due, run_id), clock());
  if (queued === undefined) return { result: 'queued', due };
  const refused = await send([queued]);
  return { result: 'queued', due, message: queued.message, ...(refused.length > 0 && { because: LEFT_TO_SWEEP }) };
}
