import { type ForeignRow, wordsOf } from '../model/notification.ts';
import { readTraceparent, traceOf } from '../model/trace.ts';
import { cameBackOf, endOf, isListedDead } from '../model/work-index.ts';
import { type Outcome, type OutcomeContext, outcomeOf, textsOf, timeOf } from './outcome.ts';

/**
 * What an image of a row of NotificationLog says. The stream has the new image only, so an image is judged by itself:
 * - What has ended (`endOf`) is `Notification Delivered` or `Notification Given Up`. A row that its writer had delivered
 *   before we knew of it tells nothing; what continues on a fallback channel names its successor.
 * - An attempt that came back is `Notification Bounced`, whatever became of the row: a delivery that was told before no
 *   longer holds.
 * Later writes of the row say the same again, with the same `event_id`, until its turn is another one
 * (docs/decisions/operators/outcomes.md).
 */
export function notificationOutcomes(row: ForeignRow, context: OutcomeContext): Outcome[] {
  const { log_id } = row;
  if (typeof log_id !== 'string') return [];
  const attempt = wholeNumber(row['last_attempt']) ?? -1;
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
    [of, ...which]: readonly [attempt: number, ...unknown[]],
    at: string,
    rest: Partial<Outcome['detail']>,
  ) => outcomeOf(kind, { identity: [log_id, of, ...which], at, log_id, ...ids(row), ...trace(of), ...rest }, context);
  const bounced = cameBackOf(row).map((one) => {
    const at = timeOf([row['bounced_at'], row['updated_at']], context.seen_at);
    // The number of an attempt is never used again, and a redrive later must not tell of the bounce as of a new one.
    return told('Notification Bounced', [one, 0], at, state(row));
  });
  const end = endOf(row);
  if (end === 'delivered') {
    const at = timeOf([row['sent_at'], row['updated_at']], context.seen_at);
    const { error_type: _, failure_reason: __, ...rest } = state(row);
    return [...bounced, told('Notification Delivered', [attempt, ...turnOf(row, ['bounced_at'])], at, rest)];
  }
  if (end === 'given_up') {
    // A dead row is in the work index since its death. Another one keeps the time when it would have been due.
    const since = isListedDead(row) ? [row['work_at'], row['updated_at']] : [row['updated_at']];
    return [
      ...bounced,
      told('Notification Given Up', [attempt, ...turnOf(row)], timeOf(since, context.seen_at), state(row)),
    ];
  }
  return bounced;
}

/** What tells an end from others after the same attempt. @param more of a row that a version before turns has ended */
function turnOf(row: ForeignRow, more: readonly string[] = []): readonly unknown[] {
  if (typeof row['turn'] === 'string') return [row['turn']];
  const texts = more.map((column) => row[column]).filter((value) => typeof value === 'string');
  return [wholeNumber(row['redrive_count']) ?? 0, ...texts];
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

const wholeNumber = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? Number(value) : undefined);
