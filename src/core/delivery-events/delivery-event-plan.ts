import { isClaimed } from '../delivery/claim-plan.ts';
import { isOfClaim, resultOf } from '../delivery/retry-record.ts';
import { cameBack, cameBackCorrected, present, shownDelivered } from '../delivery/transitions/without-attempt.ts';
import { judge, type RetryRules } from '../delivery/verdict.ts';
import { policyOf } from '../model/error-types.ts';
import {
  arrived,
  type DeliveryByAttempt,
  mayArrive,
  type NotificationRow,
  type RetryRecord,
  withEvidence,
} from '../model/notification.ts';
import type { RowChange } from '../model/row-change.ts';
import { epochMs } from '../model/time.ts';
import { type DeliveryEvent, deliveredRecord, type Feedback, failedRecord } from './delivery-event.ts';

/** What is stored about the notification and the attempt that an event is about. */
export interface EventSubject {
  readonly row: NotificationRow;
  /** The record of the event's attempt. */
  readonly record?: RetryRecord;
  /** The record of the row's newest attempt. */
  readonly newest?: RetryRecord;
}

export type EventPlan =
  | { readonly do: 'ignore'; readonly because: string }
  | {
      readonly do: 'note' | 'reconcile' | 'fail';
      /** The attempt's record from now on. */
      readonly record?: RetryRecord;
      readonly change?: RowChange;
      /** When the row is due; a message for it is to be queued. */
      readonly due?: string;
      /** An attempt is under way, and its worker settles it: when to look at the event again. */
      readonly again_at?: string;
    };

export interface EventContext extends RetryRules {
  readonly now: Date;
}

/**
 * Decides on an event, and writes nothing. The strongest evidence of each attempt counts and is kept, so that events in
 * any order, repeated or late, lead to the same state (docs/decisions/delivery/ses-events.md#0045):
 * - A notification that arrived is SUCCESS, whichever attempt reached the recipient; it is not retried any more.
 * - An attempt that came back goes to the retry policy like any refusal, if the row's state rests on that attempt. The
 *   event only sets `give_up`; the next message gives up, with record and dead letter.
 * - What came back after a delivery counts only if it says for good that the message did not arrive; what says nothing,
 *   such as an automatic reply, is never a reason to send again (docs/decisions/delivery/ses-events.md#0071).
 * - An attempt under way is left to its worker.
 */
export function planDeliveryEvent(event: DeliveryEvent, found: EventSubject, context: EventContext): EventPlan {
  const { record, ...others } = found;
  const { row } = found;
  if (event.attempt < (row.life ?? 0) || isReplaced(row)) {
    const shown = ofFormerLife(event, found);
    if (shown.record !== undefined) return { do: 'note', ...shown };
    return { do: 'ignore', because: 'its writer has put the notification anew since that attempt' };
  }
  const inProgress = isClaimed(row) && event.attempt === row.last_attempt;
  if (event.attempt > row.last_attempt || (record === undefined && !inProgress)) {
    return { do: 'ignore', because: 'the notification has had no such attempt' };
  }
  // The record may be that of an attempt of a former life which had the same number.
  const isFormer = inProgress && record !== undefined && !isOfClaim(record, row);
  const id = record?.provider_message_id;
  if (id !== undefined && (id === event.provider_message_id) === isFormer) {
    return { do: 'ignore', because: 'the attempt sent another message' };
  }
  const subject = isFormer ? others : found;
  switch (event.feedback.kind) {
    case 'unclear':
      return { do: 'note' };
    case 'failed':
      return planFailure(event, event.feedback, subject, context);
    default:
      return planArrival(event, event.feedback.kind, subject, context);
  }
}

/** The row keeps what an event has shown, its record does not yet: a worker died, or held the claim meanwhile. */
function ofFormerLife(event: DeliveryEvent, found: EventSubject): ReturnType<typeof recordAsShown> {
  const evidence = knownOf(event, found);
  if (evidence[event.attempt] === undefined || found.record === undefined) return {};
  const answer = event.feedback.kind === 'failed' ? event.feedback.answer : returned(found.row);
  return recordAsShown(event, answer, { ...found, evidence });
}

/** It waits for the indexer, which begins another life with what its writer has put in, unless the row is over. */
function isReplaced(row: NotificationRow): boolean {
  const isOver = row.is_deleted === true || (row.failure_reason !== undefined && row.work_queue === undefined);
  return mayArrive(row) && !isOver && !isClaimed(row) && row.send_status !== 'SUCCESS';
}

type Answer = Extract<Feedback, { kind: 'failed' }>['answer'];
type Arrival = Exclude<Feedback['kind'], 'failed' | 'unclear'>;

function planArrival(event: DeliveryEvent, kind: Arrival, subject: EventSubject, { now }: EventContext): EventPlan {
  const { row, record } = subject;
  const evidence = withEvidence(knownOf(event, subject), event.attempt, kind === 'delivered' ? 'delivered' : 'seen');
  const history = recordAsShown(event, returned(row), { ...subject, evidence });
  if (kind === 'delivered' && evidence[event.attempt] === 'bounced') {
    if (history.record === undefined) return { do: 'ignore', because: 'the attempt came back after that' };
    return { do: 'note', ...history };
  }
  const marks: Partial<NotificationRow> = {
    ...(evidence[event.attempt] !== row.delivery_by_attempt?.[event.attempt] && { delivery_by_attempt: evidence }),
    ...earliest(row, 'delivered_at', event.at),
    ...(kind === 'opened' && earliest(row, 'opened_at', event.at)),
    ...(kind === 'complained' && { ...earliest(row, 'complained_at', event.at), suppressed: true }),
  };
  const marked = Object.keys(marks).length > 0 && { change: { set: marks } };
  if (row.send_status === 'SUCCESS') return { do: 'note', ...history, ...marked };
  const attempt = underway(row, now);
  if (attempt === 'live') return { do: 'note', ...marked, again_at: row.claim_until ?? now.toISOString() };
  // The worker of a newer attempt crashed: the worker that takes over finds the evidence, and sends nothing.
  if (attempt === 'abandoned' && event.attempt < row.last_attempt) return { do: 'note', ...history, ...marked };
  return { do: 'reconcile', ...history, change: shownDelivered(row, marks, record?.retry_at ?? event.at) };
}

function planFailure(
  event: DeliveryEvent,
  { answer, final, suppressed }: Extract<Feedback, { kind: 'failed' }>,
  subject: EventSubject,
  { now, ...rules }: EventContext,
): EventPlan {
  const { row, newest } = subject;
  const shows = final ? 'bounced' : 'soft_bounced';
  const evidence = withEvidence(knownOf(event, subject), event.attempt, shows);
  const shown = { ...subject, evidence };
  const before = row.delivery_by_attempt?.[event.attempt];
  if (evidence[event.attempt] !== shows || before === shows)
    return { do: 'note', ...(subject.record && recordAsShown(event, answer, shown)) };
  const isNewest = event.attempt === row.last_attempt;
  const attempt = underway(row, now);
  if (isNewest && attempt === 'live') return { do: 'note', again_at: row.claim_until ?? now.toISOString() };

  const marks = {
    delivery_by_attempt: evidence,
    bounced_at: row.bounced_at !== undefined && row.bounced_at >= event.at ? row.bounced_at : event.at,
    ...(suppressed && { suppressed }),
  };
  // An older attempt only mattered while it was the one that had arrived: now the newest outcome counts again.
  const refused = isNewest || newest === undefined ? { ok: false as const, ...answer } : resultOf(newest);
  const first_attempt_at = row.first_attempt_at ?? now.toISOString();
  const verdict = judge(refused, { row, first_attempt_at, now }, rules);
  // A failure that may be retried changes nothing about a row that waits for a retry already, or is dead.
  const pointless = verdict.status === 'FAILED' && policyOf(verdict.failure_reason).class === 'permanent';
  const open = attempt === 'abandoned' || (row.work_queue !== undefined && pointless);
  const restsOnThisAttempt = row.send_status === 'SUCCESS' || (isNewest && open);
  const failed = { record: failedRecord(event, answer, ofAttempt(event, shown)) };
  if (verdict.status === 'SUCCESS' || refused.ok || arrived(evidence) || !restsOnThisAttempt) {
    const remove = arrived(evidence) ? [] : present(row, ['delivered_at']);
    return { do: 'note', ...failed, change: { set: marks, remove } };
  }
  const { suppressed: _, ...corrected } = marks;
  if (row.next_life !== undefined && row.send_status === 'SUCCESS')
    return { do: 'fail', ...failed, ...cameBackCorrected(row, row.next_life, corrected, { now, ...rules }) };
  const { change, due } = cameBack(row, { marks, refused, verdict, now });
  const record = failedRecord(event, answer, ofAttempt(event, shown), isNewest ? verdict : undefined);
  return { do: 'fail', record, due, change };
}

interface ShownSubject extends EventSubject {
  readonly evidence: DeliveryByAttempt;
}

/**
 * The attempt's record where it is not as the evidence has it. Whoever raised the evidence before may have died between
 * the row and the record, or may write it yet: once a mail has come back, the record must name the evidence, so that it
 * is another one than such a write replaces. Without that its status is enough, and an arrival costs no write of it.
 */
function recordAsShown(event: DeliveryEvent, answer: Answer, subject: ShownSubject): { readonly record?: RetryRecord } {
  const { row, record } = subject;
  const shown = ofAttempt(event, subject);
  const isArrived = arrived({ [event.attempt]: shown.evidence });
  const isSaid = record?.retry_status === (isArrived ? 'SUCCESS' : 'FAILED');
  if (isSaid && (row.bounced_at === undefined || record.evidence === shown.evidence)) return {};
  return { record: isArrived ? deliveredRecord(event, shown) : failedRecord(event, answer, shown) };
}

/** What is known of the notification's attempts: the record of one that had none is written before its row. */
function knownOf({ attempt }: DeliveryEvent, { row, record }: EventSubject): DeliveryByAttempt {
  const known = row.delivery_by_attempt ?? {};
  return record?.evidence === undefined ? known : withEvidence(known, attempt, record.evidence);
}

function ofAttempt({ attempt }: DeliveryEvent, { evidence, ...subject }: ShownSubject) {
  return { ...subject, evidence: evidence[attempt] ?? 'seen' };
}

/** What the row says of a message that came back, where its event is another one. */
function returned({ error_type, error_message = 'The message came back.' }: NotificationRow): Answer {
  const known = error_type !== undefined && policyOf(error_type).class === 'permanent';
  return { error_type: known ? (error_type as Answer['error_type']) : 'INVALID_RECIPIENT', message: error_message };
}

function underway(row: NotificationRow, now: Date): 'live' | 'abandoned' | undefined {
  if (!isClaimed(row)) return undefined;
  return epochMs(row.claim_until ?? '') > now.getTime() ? 'live' : 'abandoned';
}

function earliest<K extends 'delivered_at' | 'opened_at' | 'complained_at'>(row: NotificationRow, name: K, at: string) {
  const known = row[name];
  return known !== undefined && known <= at ? {} : { [name]: at };
}
