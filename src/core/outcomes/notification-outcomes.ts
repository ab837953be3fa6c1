import { errorTypeIn } from '../model/error-types.ts';
import { type ForeignRow, wordsOf } from '../model/notification.ts';
import { readTraceparent, traceOf } from '../model/trace.ts';
import { isGivenUp, isListedDead } from '../model/work-index.ts';
import { type Outcome, type OutcomeContext, outcomeOf, textsOf, timeOf } from './outcome.ts';

/**
 * What an image of a row of NotificationLog says. The stream has the new image only, so an image is judged by itself:
 * - SUCCESS after an attempt of ours is `Notification Delivered`, also while its retry record is owed. A row that its
 *   writer had delivered before we knew of it tells nothing.
 * - FAILED with a reason of ours and no work left is `Notification Given Up`: dead, stopped, cancelled, deleted by its
 *   writer, erased, or set aside as malformed. What continues on a fallback channel names its successor.
 * - An attempt that came back is `Notification Bounced`, whatever became of the row: a delivery that was told before no
 *   longer holds.
 * Later writes of the row say the same again, with the same `event_id`, unless a bounce has come in between
 * (docs/decisions/operators/outcomes.md).
 */
export function notificationOutcomes(row: ForeignRow, context: OutcomeContext): Outcome[] {
  const { log_id } = row;
  if (typeof log_id !== 'string') return [];
  const attempt = wholeNumber(row['last_attempt']) ?? -1;
  const redrives = wholeNumber(row['redrive_count']) ?? 0;
  // The span of its attempt; of the producer, where there was none.
  const trace = (of: number) => {
    const traceparent =
      of < 0
        ? readTraceparent(row['traceparent'])
        : traceOf({ log_id, traceparent: row['traceparent'] }, of)?.traceparent;
    return traceparent === undefined ? {} : { traceparent };
  };
  const told = (
    kind: Outcome['kind'],
    [of, ...which]: readonly [attempt: number, redriven: number, turned_by?: string],
    at: string,
    rest: Partial<Outcome['detail']>,
  ) => outcomeOf(kind, { identity: [log_id, of, ...which], at, log_id, ...ids(row), ...trace(of), ...rest }, context);
  const bounced = attemptsThatCameBack(row).map((one) => {
    const at = timeOf([row['bounced_at'], row['updated_at']], context.seen_at);
    // The number of an attempt is never used again, and a redrive later must not tell of the bounce as of a new one.
    return told('Notification Bounced', [one, 0], at, state(row));
  });
  if (row['send_status'] === 'SUCCESS' && attempt >= 0) {
    const at = timeOf([row['sent_at'], row['updated_at']], context.seen_at);
    const { error_type: _, failure_reason: __, ...rest } = state(row);
    // The same attempt may come back after its delivery was told, and be opened after all: that is told anew.
    const turned: [string?] = typeof row['bounced_at'] === 'string' ? [row['bounced_at']] : [];
    return [...bounced, told('Notification Delivered', [attempt, redrives, ...turned], at, rest)];
  }
  // The indexer takes any other row with a reason in as work.
  const isDead = isListedDead(row) && errorTypeIn(row['failure_reason']) !== undefined;
  if (row['send_status'] === 'FAILED' && (isDead || isGivenUp(row))) {
    // A dead row is in the work index since its death. Another one keeps the time when it would have been due.
    const since = isDead ? [row['work_at'], row['updated_at']] : [row['updated_at']];
    return [...bounced, told('Notification Given Up', [attempt, redrives], timeOf(since, context.seen_at), state(row))];
  }
  return bounced;
}

function ids(row: ForeignRow) {
  const texts = textsOf(row, ['tenant_id', 'notification_id', 'successor_log_id', 'predecessor_log_id']);
  return { ...texts, ...knownWords(row, ['channel', 'priority']) };
}

function state(row: ForeignRow) {
  const attempts = wholeNumber(row['send_attempts']);
  const { send_status: status } = knownWords(row, ['send_status']);
  return {
    ...knownWords(row, ['error_type', 'failure_reason']),
    ...(attempts !== undefined && { attempts }),
    ...(status !== undefined && { status }),
  };
}

/** Whoever may write to the table may have put any text there, also an address. */
function knownWords<K extends string>(row: ForeignRow, columns: readonly K[]) {
  return textsOf(
    row,
    columns.filter((column) => wordsOf(column)?.includes(row[column])),
  );
}

/** By the provider's events, for good or for now. One that was opened after all has not come back. */
function attemptsThatCameBack({ delivery_by_attempt }: ForeignRow): number[] {
  if (typeof delivery_by_attempt !== 'object' || delivery_by_attempt === null) return [];
  return Object.entries(delivery_by_attempt).flatMap(([attempt, evidence]) =>
    evidence === 'bounced' || evidence === 'soft_bounced' ? [Number(attempt)] : [],
  );
}

const wholeNumber = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? Number(value) : undefined);
