import type { NotificationRow } from '../../model/notification.ts';
import type { RowChange } from '../../model/row-change.ts';
import { keptOn } from '../../model/time.ts';
import { movedQueue } from '../../model/work-index.ts';

/**
 * The state machine of a row, as docs/architecture.md draws it, in three files: claims (into `sending`), settlements (out
 * of it), and what moves a row without an attempt. Each function is what one event writes, and decides nothing. Under
 * which condition it is written is a Guard (src/core/model/row-change.ts). A plain message claims a due row by the same
 * change as one statement, in src/adapters/dynamodb/delivery/delivery-stores.ts. How a foreign row enters the machine
 * stands in src/core/indexing/index-plan.ts.
 */

/** A worker's claim. */
export interface ClaimTerms {
  readonly now: Date;
  readonly until: string;
  /** The claim's token. */
  readonly by: string;
}

/** What a claim does to the attempts. `left`: before it, by the limit that holds for it. */
interface Counting {
  readonly left: number;
  readonly counted: boolean;
}

/** due → sending. @param max_retry_count the limit that the run set in place of the row's own */
export function claimedWhenDue(
  row: NotificationRow,
  claim: ClaimTerms,
  counting: Counting,
  max_retry_count: number | undefined,
): RowChange {
  return {
    set: {
      ...claimed(row, claim),
      ...counts(row, counting),
      // A limit below the attempts already made would contradict send_attempts <= max_retry_count + 1.
      ...(max_retry_count !== undefined && row.send_attempts <= max_retry_count + 1 && { max_retry_count }),
    },
    remove: ['next_retry_at'],
  };
}

/** dead → sending, for the one attempt that an operator forces, or to end one that must not be sent. */
export function claimedByForce(row: NotificationRow, claim: ClaimTerms, counting: Counting): RowChange {
  return { set: { ...claimed(row, claim), ...counts(row, counting), ...dueDuringAttempt(row, claim.now) } };
}

/** dead → sending, by a redrive of its letter: the retry budget and the retention window start anew. */
export function claimedByRedrive(row: NotificationRow, claim: ClaimTerms, limit: number): RowChange {
  return {
    set: {
      ...claimed(row, claim),
      send_attempts: 1,
      attempts_left: limit,
      retry_count: 0,
      redrive_count: (row.redrive_count ?? 0) + 1,
      first_attempt_at: claim.now.toISOString(),
      ...keptOn(row.expires_at, claim.now),
      ...dueDuringAttempt(row, claim.now),
    },
    remove: ['failure_reason', 'dead_message_id', 'dead_run_id'],
  };
}

function claimed(row: NotificationRow, { until, by }: ClaimTerms): Partial<NotificationRow> {
  // Nothing is sent yet, so a mistake of ours may stop the attempt: SUCCESS is final, and a claim needs a place to be found.
  assert(row.send_status !== 'SUCCESS', 'a delivered notification is not claimed');
  assert(row.work_queue !== undefined, 'a row is in the work index while it is sent');
  return { send_status: 'SENDING', claim_until: until, claim_id: by, last_attempt: row.last_attempt + 1 };
}

function counts(row: NotificationRow, { left, counted }: Counting): Partial<NotificationRow> {
  assert(!counted || left > 0, 'a counted attempt has an attempt left');
  return counted ? { send_attempts: row.send_attempts + 1, attempts_left: left - 1 } : { attempts_left: left };
}

/** A dead notification is due work during its attempt, so that a sweep finds it again if the worker crashes. */
function dueDuringAttempt(row: NotificationRow, now: Date): Partial<NotificationRow> {
  return { work_queue: movedQueue('due', row), work_at: now.toISOString() };
}

/** → sending, for a send that the producer made: counted, numbered, and its claim already expired. */
export function claimForSend(row: NotificationRow, at: Date, due: Date): Partial<NotificationRow> {
  const counted = row.attempts_left > 0;
  return {
    ...claimOf(row, at, due),
    send_attempts: row.send_attempts + (counted ? 1 : 0),
    attempts_left: row.attempts_left - (counted ? 1 : 0),
    last_attempt: row.last_attempt + 1,
  };
}

/** As claimForSend, for a row whose counters already include the send. */
export function claimOf(row: NotificationRow, at: Date, due: Date): Partial<NotificationRow> {
  return {
    send_status: 'SENDING',
    claim_until: at.toISOString(),
    work_at: due.toISOString(),
    first_attempt_at: row.first_attempt_at ?? at.toISOString(),
  };
}

/** A mistake of ours, never of anybody's input. */
function assert(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`A rule of the pipeline is broken: ${rule}.`);
}
