import { providerHost } from '../../model/channels.ts';
import type { NotificationRow } from '../../model/notification.ts';
import { queuedFor, type ReceivedMessage } from '../../model/queue-message.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import { OF_AN_END, OF_FORMER_LIFE, OF_FORMER_RECIPIENT, type RowChange, withChange } from '../../model/row-change.ts';
import { setAside } from '../../model/row-state.ts';
import { clip, maskedWords } from '../../model/text.ts';
import { keptOn } from '../../model/time.ts';
import type { RowFault } from '../../model/work-index.ts';
import { movedQueue } from '../../model/work-index.ts';
import type { Refused } from '../ports.ts';
import { limitOf, type Verdict } from '../verdict.ts';
import { failureColumns, letterOf, ROW_TEXT, replacing } from './settlements.ts';

/** → stopped: cancelled, or what it continues has arrived. A message for it finds no work left. */
export const CANCELLATION: RowChange = {
  set: { send_status: 'FAILED', failure_reason: 'CANCELLED' },
  remove: ['work_queue', 'next_retry_at', 'give_up', 'dead_message_id', 'dead_run_id'],
};

/** dead → stopped: the row keeps its reason and its records; its dead letter becomes a straggler. */
export const GIVEN_UP: RowChange = { set: {}, remove: ['work_queue', 'dead_message_id', 'dead_run_id'] };

/**
 * dead or stopped → due: a notification that was given up is due now, by an operator's redrive, retry of a stopped one,
 * or replay (docs/decisions/delivery/dead-letters-and-redrive.md). Its retry budget and its window start anew.
 * After this one write the row is due work. If its message is not sent, the next sweep sends one, so a command that
 * dies after the write loses nothing. An old dead letter becomes a straggler.
 */
export function revival(row: NotificationRow, now: Date, policy: RetryPolicy, replay_id?: string): RowChange {
  const due = now.toISOString();
  return {
    set: {
      send_status: 'RETRY',
      send_attempts: 0,
      attempts_left: limitOf(row, policy) + 1,
      retry_count: 0,
      first_attempt_at: due,
      redrive_count: (row.redrive_count ?? 0) + 1,
      work_queue: movedQueue('due', row),
      work_at: due,
      ...queuedFor(due, row, now),
      next_retry_at: due,
      ...keptOn(row.expires_at, now),
      // Set to empty: a batched statement removes at most one attribute
      // (docs/decisions/delivery/claims-and-messages.md#0005).
      ...(row.dead_message_id !== undefined && { dead_message_id: '' }),
      ...(row.dead_run_id !== undefined && { dead_run_id: '' }),
      ...(replay_id !== undefined && { replay_id }),
    },
    remove: ['failure_reason'],
  };
}

/**
 * due → due now, by an operator. The message follows, so an express run leaves the row out while its lane has messages
 * (docs/decisions/delivery/sweep-and-backlog.md#0134).
 */
export function hastened(row: NotificationRow, now: Date): RowChange {
  const due = now.toISOString();
  return { set: { work_at: due, next_retry_at: due, ...queuedFor(due, row, now) } };
}

/** → delivered: an event shows that it arrived, whichever attempt reached the recipient. @param marks what it noted */
export function shownDelivered(row: NotificationRow, marks: Partial<NotificationRow>, sent_at: string): RowChange {
  return {
    set: {
      ...marks,
      send_status: 'SUCCESS',
      claim_until: '',
      sent_at,
      ...replacing(row, 'error_message', ''),
      ...replacing(row, 'error_details', ''),
    },
    remove: present(row, UNFINISHED),
  };
}

/** Attributes that only a row has that waits for an attempt or was given up. */
const UNFINISHED = [
  'work_queue',
  'next_retry_at',
  'give_up',
  'failure_reason',
  'dead_message_id',
  'dead_run_id',
] as const;

/**
 * sending → dead, of a forced attempt whose worker crashed: no other one follows. The message at hand becomes the letter:
 * the one from before may be gone, as it met the claim of the forced attempt, or was redriven meanwhile.
 */
export function returnedToDead(row: NotificationRow, received: ReceivedMessage, now: Date): RowChange {
  const place = { work_queue: movedQueue('dead', row), work_at: now.toISOString() };
  return { set: { send_status: 'FAILED', ...place, ...letterOf(row, received) } };
}

/** What an event showed of a message that came back, and what the retry policy made of it. */
interface Return {
  readonly marks: Partial<NotificationRow>;
  readonly refused: Refused;
  readonly verdict: Exclude<Verdict, { status: 'SUCCESS' }>;
  readonly now: Date;
}

/** delivered or sending → due: at its next retry, or now, to be given up by the worker that receives its message. */
export function cameBack(
  row: NotificationRow,
  { marks, refused, verdict, now }: Return,
): { readonly change: RowChange; readonly due: string } {
  const due = verdict.status === 'RETRY' ? verdict.next_retry_at : now.toISOString();
  const { response_code, message } = refused;
  const change: RowChange = {
    set: {
      ...marks,
      send_status: 'RETRY',
      claim_until: '',
      retry_count: Math.max(0, row.send_attempts - 1),
      error_type: verdict.error_type,
      error_message: clip(message, ROW_TEXT),
      ...replacing(row, 'response_code', response_code ?? ''),
      ...(verdict.status === 'FAILED' && { give_up: verdict.failure_reason }),
      work_queue: movedQueue('due', row),
      work_at: due,
      next_retry_at: due,
      ...queuedFor(due, row, now),
    },
    // The event's record is written first, in place of the one that the row owes.
    remove: present(row, ['sent_at', 'delivered_at', 'failure_reason', 'dead_message_id', 'dead_run_id', 'record_due']),
  };
  const described = failureColumns(withChange(row, change), refused, {
    attempt: row.last_attempt,
    at: now.toISOString(),
  });
  return { change: { ...change, set: { ...change.set, ...described } }, due };
}

/**
 * delivered → due, in the next life: what came back went to whom its writer has replaced since. What events have shown of
 * the attempts of before stays, so that producers are told of the bounce.
 */
export function cameBackCorrected(
  row: NotificationRow,
  next_life: number,
  marks: Pick<NotificationRow, 'delivery_by_attempt' | 'bounced_at'>,
  { now, policy }: LifeTerms,
): { readonly change: RowChange; readonly due: string } {
  const { set, due } = anotherLife(row, next_life, { now, policy });
  // The recipient that it had is suppressed, not the one of the next life.
  const others = ['sent_at', 'suppressed', 'record_due', 'failure_reason', 'dead_message_id', 'dead_run_id'] as const;
  const former = OF_FORMER_LIFE.filter((name) => !(name in marks));
  return { change: { set: { ...marks, ...set }, remove: present(row, [...former, ...others]) }, due };
}

/** Due now, unless given later, with a budget and a window of its own, and numbers that no attempt of before has. */
function anotherLife(row: NotificationRow, life: number, { now, policy }: LifeTerms, due = now.toISOString()) {
  const set = {
    life,
    last_attempt: Math.max(life - 1, row.last_attempt),
    send_status: 'RETRY',
    send_attempts: 0,
    attempts_left: limitOf(row, policy) + 1,
    retry_count: 0,
    claim_until: '',
    work_queue: movedQueue('due', row),
    work_at: due,
    next_retry_at: due,
    ...queuedFor(due, row, now),
  } as const satisfies Partial<NotificationRow>;
  return { set, due };
}

interface LifeTerms {
  readonly now: Date;
  readonly policy: RetryPolicy;
}

/** What an operator's correction says of the row; recipient and text lie in its content. */
interface Corrected {
  readonly integration_config_id?: string | undefined;
  /** A new one; absent: it stays. */
  readonly recipient?: string | undefined;
}

/**
 * due, dead or stopped → due, in another life, by an operator: what is sent from now on is another notification than what
 * was tried before. Its letter becomes a straggler. What was never tried keeps its time. With another recipient, no word of a
 * provider names the one of before: `ops forget` finds the row by the new one alone.
 */
export function correctedBy(
  row: NotificationRow,
  life: number,
  { integration_config_id, recipient }: Corrected,
  terms: LifeTerms,
): { readonly change: RowChange; readonly due: string } {
  const at = terms.now.toISOString();
  const isTried = row.last_attempt >= (row.life ?? 0);
  const { set, due } = anotherLife(row, life, terms, !isTried && row.work_at && row.work_at > at ? row.work_at : at);
  const isDirect = (integration_config_id ?? row.integration_config_id) === undefined;
  const provider_host = isDirect && recipient !== undefined ? providerHost(recipient) : undefined;
  const isElsewhere = provider_host === undefined && (recipient ?? integration_config_id) !== undefined;
  const remove = present(row, [
    ...[...OF_FORMER_LIFE, ...OF_AN_END],
    ...(recipient === undefined ? [] : OF_FORMER_RECIPIENT),
    ...(isElsewhere ? (['provider_host'] as const) : []),
  ]);
  const where = {
    ...(integration_config_id !== undefined && { integration_config_id }),
    ...(provider_host !== undefined && { provider_host }),
  };
  const said = recipient === undefined ? {} : maskedWords(row);
  return { change: { set: { ...set, ...where, ...said, ...keptOn(row.expires_at, terms.now) }, remove }, due };
}

/** Those of the attributes that the row has. */
export function present(row: NotificationRow, names: readonly (keyof NotificationRow)[]): (keyof NotificationRow)[] {
  return names.filter((name) => row[name] !== undefined);
}

/** How a row leaves the work index that must not be in it, and why. */
export interface Removal {
  readonly change: RowChange;
  readonly why: string;
}

/**
 * A row that breaks a rule of the work index is set aside, and stops no other; a delivered one only leaves the index,
 * because SUCCESS is final.
 * @param faults the rules that it breaks
 */
export function removalOfMisindexed(row: NotificationRow, faults: readonly RowFault[], now: Date): Removal | undefined {
  if (row.work_queue === undefined) return undefined;
  if (row.send_status === 'SUCCESS')
    return { change: { set: {}, remove: ['work_queue'] }, why: 'it is delivered already' };
  if (faults.length === 0) return undefined;
  const { set, why, remove } = setAside(faults, now, row);
  return { change: { set, remove }, why };
}

/** The same for a row whose claim has shown what it breaks. @param counters as its writer left them: no attempt was made */
export function removalOfClaimed(
  row: NotificationRow,
  counters: Partial<NotificationRow>,
  faults: readonly RowFault[],
  now: Date,
): Removal | undefined {
  const removal = removalOfMisindexed({ ...row, ...counters }, faults, now);
  return removal && { ...removal, change: { ...removal.change, set: { ...removal.change.set, ...counters } } };
}
