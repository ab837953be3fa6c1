import { successorId } from '../delivery/failover.ts';
import { CLAIM_MS } from '../delivery/policy/attempt-times.ts';
import { CHANGE_TRIES } from '../delivery/ports.ts';
import { owedRecord } from '../delivery/retry-record.ts';
import { claimLeftMs, leaveIndex } from '../delivery/take-over.ts';
import { RECORD_WRITTEN } from '../delivery/transitions/settlements.ts';
import { CANCELLATION } from '../delivery/transitions/without-attempt.ts';
import {
  arrived,
  CONTENT_COLUMNS,
  FALLBACK_COLUMNS,
  type ForeignRow,
  type NotificationRow,
  TOLD_COLUMNS,
  wordsOf,
} from '../model/notification.ts';
import type { RowChange } from '../model/row-change.ts';
import { type RowState, stateOf } from '../model/row-state.ts';
import { expiresAt } from '../model/time.ts';
import { workFaults } from '../model/work-rules.ts';
import { type CancelDeps, cancel } from '../operator/cancel.ts';

/** What is erased of a notification beside its row. Each may be called again. */
export interface Erasable {
  /**
   * Leaves of the content what keeps others from storing it again: no image of the stream, nor a repeated request, brings
   * it back. @returns false when there was nothing left
   */
  eraseContent(row: Pick<NotificationRow, 'log_id' | 'tenant_id'>): Promise<boolean>;
  /** What providers answered. @returns how many records said something */
  eraseRecords(log_id: string): Promise<number>;
}

/** `rows` change while their state and what their writer has put into them are as they were read. */
export interface ForgetDeps extends CancelDeps {
  readonly erasable: Erasable;
}

interface Forgotten {
  readonly log_id: string;
  /**
   * `cancelled`: it was still to be sent. `claimed`: an attempt is under way, which is its last one; the rest follows
   * when the claim has ended. `changing`: others kept changing the row. `another_life`: it was corrected since it was
   * found, perhaps for somebody else.
   */
  readonly result: 'erased' | 'cancelled' | 'claimed' | 'changing' | 'another_life' | 'already' | 'not_found';
  readonly records: number;
  /** Continues it, perhaps for the same person. */
  readonly successor_log_id?: string;
}

/** What of a row is erased: all that others said about the recipient. */
export type Names = (value: unknown) => boolean;

/**
 * Erases one notification. The row first: from that write on nobody claims it any more, so nobody misses the content.
 * Called again after a crash anywhere, it does what was left. Who sends it at the moment ends its attempt, and finds then
 * that it is cancelled.
 * @param names whether a column says the address
 * @param found the row as it was found to be theirs
 */
export async function forgetOne(
  log_id: string,
  run_id: string,
  names: Names,
  deps: ForgetDeps,
  found?: ForeignRow,
): Promise<Forgotten> {
  let ended = false;
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const row = await deps.rows.read(log_id);
    if (row === undefined) return { log_id, result: 'not_found', records: 0 };
    if (found !== undefined && found['life'] !== row.life) return { log_id, result: 'another_life', records: 0 };
    const step = await eraseRow(row, run_id, names, deps);
    if (step === 'ended') ended = true;
    if (step === 'ended' || step === 'again') continue;
    if (step === 'claimed') return { log_id, result: 'claimed', records: 0 };
    const hadContent = await deps.erasable.eraseContent(row);
    const records = await deps.erasable.eraseRecords(log_id);
    // Whoever failed it over may have made its successor, and found it deleted then.
    const { successor_log_id = row.fallback_channel && successorId(log_id, row.life) } = row;
    const done = step === 'already' && (hadContent || records > 0) ? 'erased' : step;
    const result = ended && done === 'erased' ? 'cancelled' : done;
    return { log_id, result, records, ...(successor_log_id !== undefined && { successor_log_id }) };
  }
  return { log_id, result: 'changing', records: 0 };
}

/** `ended`: what a crashed worker had claimed is cancelled, and the row has to be looked at again. */
type Step = 'erased' | 'cancelled' | 'already' | 'claimed' | 'ended' | 'again';

async function eraseRow(row: NotificationRow, run_id: string, names: Names, deps: ForgetDeps): Promise<Step> {
  const { rows, records, clock } = deps;
  const now = clock();
  const state = stateOf(row, now);
  // Whatever else its row holds: nothing is taken from under a claim.
  if (state === 'claimed' || (state !== 'abandoned' && claimLeftMs(row, now, CLAIM_MS) > 0)) {
    // Its attempt is the last one, however it ends.
    const told = row.is_deleted === true || (await rows.change(row, { set: { is_deleted: true } }));
    return told ? 'claimed' : 'again';
  }
  if (state === 'set_aside') {
    const left = await leaveIndex(row, workFaults(row), { rows, records, clock, claim_ms: CLAIM_MS });
    if (left !== undefined) return 'again';
  }
  if (state === 'abandoned' || ((state === 'due' || state === 'waiting') && arrived(row.delivery_by_attempt))) {
    const [cancelled] = await cancel([row.log_id], run_id, { rows, records, clock });
    if (cancelled?.result === 'cancelled') return 'ended';
    // Its record says that it was delivered: the next message settles that.
    return cancelled?.result === 'ended' && (await rows.read(row.log_id))?.send_status === 'SENDING'
      ? 'claimed'
      : 'again';
  }
  if (row.record_due !== undefined) {
    const owed = owedRecord(row);
    if (owed !== undefined) await records.putIfAbsent(owed);
    await rows.change(row, RECORD_WRITTEN);
    return 'again';
  }
  const { change, cancels } = erasure(row, state, now, names);
  if (change === undefined) return 'already';
  if (!(await rows.change(row, change))) return 'again';
  return cancels ? 'cancelled' : 'erased';
}

/** Columns of the pipeline and of the table document that hold no text of a person's; one of words is such while it holds one. */
const PLAIN = [
  ...['log_id', 'tenant_id', 'channel', 'priority', 'send_status', 'work_queue', 'work_at', 'queued_for', 'claim_id'],
  ...['claim_until', 'error_type', 'failure_reason', 'response_code', 'history_bucket', 'tenant_created_at'],
  ...['notification_type', 'priority_level', 'recipient_type', 'recipient_hash', 'integration_config_id', 'created_at'],
  ...['created_by', 'updated_at', 'updated_by', 'successor_log_id', 'predecessor_log_id', 'replay_id'],
  ...['dead_message_id', 'dead_run_id', 'dead_enqueued_at', 'dead_sent_at', 'fallback_channel', 'erased_at'],
];

/**
 * The recipient is erased, and the notification is marked as erased and deleted, so that whatever brings it back (a
 * redriven letter, a bounce, an operator) ends it without a send. What is still to be sent is stopped as cancelled; a
 * delivered, stopped or dead one stays what it is, and a dead one keeps its letter.
 * @param names whether a column says the recipient's address
 * @returns no change when nothing is left to erase
 */
export function erasure(
  row: NotificationRow,
  state: RowState,
  now: Date,
  names: (value: unknown) => boolean,
): { readonly change?: RowChange; readonly cancels: boolean } {
  const cancels = state === 'due' || state === 'waiting' || state === 'not_taken_in';
  const told: readonly string[] = [...TOLD_COLUMNS, ...CONTENT_COLUMNS, ...FALLBACK_COLUMNS];
  const isPlain = (column: string, value: unknown) =>
    PLAIN.includes(column) && (wordsOf(column)?.includes(value) ?? true);
  const says = ([column, value]: readonly [string, unknown]) =>
    value !== undefined && (told.includes(column) || (!isPlain(column, value) && names(value)));
  const left = Object.entries(row).filter(says);
  if (row.erased_at !== undefined && left.length === 0 && !cancels) return { cancels };
  const { set = {}, remove = [] } = cancels ? CANCELLATION : {};
  const erased_at = row.erased_at ?? now.toISOString();
  const columns = left.map(([column]) => column as keyof NotificationRow);
  // DynamoDB refuses a change that names a column twice.
  const gone = new Set([...remove, ...columns.filter((column) => !(column in set))]);
  // A row that was never taken in has no end yet, and nobody takes in what is erased.
  const end = row.expires_at === undefined && { expires_at: expiresAt(now) };
  return { change: { set: { ...set, ...end, is_deleted: true, erased_at }, remove: [...gone] }, cancels };
}
