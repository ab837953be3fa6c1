import { remedyOf } from './error-types.ts';
import { type ForeignRow, type NotificationRow, UPDATED_BY } from './notification.ts';
import { clip } from './text.ts';
import { epochMs, parseTime } from './time.ts';
import { parseWorkQueue, type RowFault } from './work-index.ts';
import { brokenRules, isAbsent, OF_THE_STAGE, WORK_RULES, workFaults } from './work-rules.ts';

/** The state of a notification as an operator sees it; send_status alone does not show it (docs/runbook.md). */
export type RowState =
  | 'delivered'
  /** An attempt is under way. */
  | 'claimed'
  /** The worker of an attempt crashed; the next message or sweep takes over. */
  | 'abandoned'
  /** Its time has come; the next sweep, or a message that is queued, leads to the attempt. */
  | 'due'
  /** Its time is to come. */
  | 'waiting'
  /** Given up, with a dead letter. */
  | 'dead'
  /** Given up, without one: wrong recipient, cancelled, or its dead letter was dropped. */
  | 'stopped'
  /** Its row is malformed; the writer has to correct it, also where the indexer or a sweep has not judged it yet. */
  | 'set_aside'
  /** Not in the work index yet, or left to its writer. */
  | 'not_taken_in';

export function stateOf(row: NotificationRow, now: Date): RowState {
  if (row.send_status === 'SUCCESS') return 'delivered';
  const work = typeof row.work_queue === 'string' ? parseWorkQueue(row.work_queue) : undefined;
  if (work === undefined || row.work_at === undefined) return withoutWork(row);
  if (workFaults(row).length > 0) return 'set_aside';
  if (row.send_status === 'SENDING') {
    return epochMs(row.claim_until ?? '') > now.getTime() ? 'claimed' : 'abandoned';
  }
  if (work.state === 'dead') return 'dead';
  return epochMs(row.work_at) <= now.getTime() ? 'due' : 'waiting';
}

/** A row that was in the pipeline before has a priority, a channel, and the time when it was last due. */
function withoutWork(row: NotificationRow): RowState {
  if (row.failure_reason === undefined) return 'not_taken_in';
  return keptFaults({ ...row }).length > 0 ? 'set_aside' : 'stopped';
}

/**
 * The rules that a row breaks that the pipeline has given up, and that an operator may bring back. One that was set aside
 * for its channel alone, which faults name last, has lost only its place in the work index.
 */
function keptFaults(row: ForeignRow): RowFault[] {
  const { failure_reason, error_message: why } = row;
  const alone = typeof why === 'string' && why.startsWith(`channel breaks ${OF_THE_STAGE}`);
  const lost = alone && failure_reason === 'FORMAT_ERROR';
  return brokenRules(WORK_RULES, row).filter(({ column }) => !(lost && column === 'work_at' && isAbsent(row[column])));
}

/**
 * When a notification was given up (`failed_at`, retry-and-idempotency-design.md §4). A dead one is in the work index
 * since then. One that stopped without a dead letter keeps the time when it was due, and its last change was its end.
 * Undefined if another writer left no time.
 */
export function failedAt(
  row: Readonly<Partial<NotificationRow>> & { readonly updated_at?: unknown },
): string | undefined {
  const times = row.work_queue === undefined ? [row.updated_at, row.work_at] : [row.work_at, row.updated_at];
  return times
    .map((time) => (typeof time === 'string' ? parseTime(time)?.toISOString() : undefined))
    .find((time) => time !== undefined);
}

/** Whether a notification can be retried now: the state in which it can, or why it cannot. */
export type RetryCheck =
  | { readonly state: Extract<RowState, 'abandoned' | 'due' | 'waiting' | 'dead' | 'stopped'> }
  | { readonly refused: string };

/**
 * Checks the row as it is. A delivered notification is never sent again (invariant 5).
 * @param recipient whether it would go to the one that it has; a wrong one gets nothing until it is corrected
 */
export function checkRetry(row: NotificationRow, now: Date, recipient: 'same' | 'another' = 'same'): RetryCheck {
  if (row.erased_at !== undefined && row.send_status !== 'SUCCESS') {
    return { refused: 'its recipient and content were erased: nothing is left to send' };
  }
  if (row.is_deleted && row.send_status !== 'SUCCESS') {
    return { refused: 'its writer deleted it (is_deleted); to send it anyway, set is_deleted to false first' };
  }
  const state = stateOf(row, now);
  switch (state) {
    case 'delivered':
      return { refused: 'it is delivered already and is never sent again' };
    case 'claimed':
      return { refused: `an attempt is under way until ${row.claim_until} at the latest; check again after that` };
    case 'stopped':
      return checkStopped(row, recipient);
    case 'set_aside':
      return { refused: whySetAside(row) };
    case 'not_taken_in':
      return { refused: 'it is not in the work index yet; try again in a few seconds' };
    default:
      return { state };
  }
}

function whySetAside(row: NotificationRow): string {
  return row.work_queue === undefined
    ? 'it was set aside as malformed; its writer has to correct the columns that error_message names'
    : `it is malformed, and its writer has to correct it: ${describeFaults(workFaults(row))}`;
}

function checkStopped(row: NotificationRow, recipient: 'same' | 'another'): RetryCheck {
  const { successor_log_id, failure_reason, channel } = row;
  if (successor_log_id !== undefined) {
    return { refused: `it continues on its fallback channel as ${successor_log_id}; retry that one` };
  }
  return failure_reason === 'INVALID_RECIPIENT' && recipient === 'same'
    ? { refused: `INVALID_RECIPIENT: ${remedyOf(failure_reason, row, channel).replace(/\.$/, '')}` }
    : { state: 'stopped' };
}

/** Longest description of faults, in characters: it is one of several columns of a small row. */
const FAULT_TEXT = 400;

/**
 * What a row has that waits for an attempt. A malformed one must not stay in the work index, where a writer's own time would
 * make it look like ours; who reads a next time takes it for one that is retried; and a bounce that was to end it
 * (`give_up`) may be of the recipient that its writer corrects next.
 */
const OF_WORK = ['work_queue', 'work_at', 'next_retry_at', 'give_up'] as const;

/** The change of a malformed row: FAILED with FORMAT_ERROR, until its writer corrects it. A faulty time stays for that. */
export function setAside(faults: readonly RowFault[], now: Date, row: object) {
  const remove = OF_WORK.filter(
    (name) =>
      (row as ForeignRow)[name] !== undefined &&
      !(name === 'next_retry_at' && faults.some(({ column }) => column === name)),
  );
  const why = describeFaults(faults);
  const set = {
    send_status: 'FAILED',
    error_type: 'FORMAT_ERROR',
    failure_reason: 'FORMAT_ERROR',
    error_message: clip(why, FAULT_TEXT),
    updated_at: now.toISOString(),
    updated_by: UPDATED_BY,
  } as const satisfies Partial<NotificationRow>;
  return { set, why, remove };
}

/** One sentence for error_message. */
export function describeFaults(faults: readonly RowFault[]): string {
  return faults.map(({ column, rule, expected }) => `${column} breaks ${rule}: expected ${expected}`).join('; ');
}
