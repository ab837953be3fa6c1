import type { RowStore } from '../../delivery/ports.ts';
import { leaseLeftMs } from '../../model/changes.ts';
import type { NotificationRow } from '../../model/notification.ts';
import { ExplainedError } from '../../model/problem.ts';
import { messageFor, type QueuedMessage, queuedUntil, withToken } from '../../model/queue-message.ts';
import { stateOf } from '../../model/row-state.ts';
import type { CorrectionStore } from '../correct.ts';
import { changeRow, type RetryDeps } from '../retry-now.ts';
import { choose } from './choose.ts';
import type { Exclusion } from './exclusions.ts';
import { type Counts, NOTHING, type Operation } from './operation.ts';

export interface TakeDeps extends Pick<RetryDeps, 'rows' | 'send' | 'policy' | 'clock'> {
  /** Writes what corrects a row: its content gets the life of the change, too. */
  readonly correct: CorrectionStore['correct'];
}

interface Taken {
  readonly message?: QueuedMessage;
}

/**
 * Takes the notifications of a page: reads each as it is now, changes it by one conditional write, and sends its message
 * after that. Called again for the same page after a crash, it changes only what it had not, and counts all of it; or it
 * changes nothing, and counts what had been taken (`repeatedOnly`).
 */
export async function takePage(
  operation: Operation,
  log_ids: readonly string[],
  deps: TakeDeps,
  { repeatedOnly = false } = {},
): Promise<Counts> {
  const ended = await Promise.allSettled(log_ids.map((log_id) => takeOne(log_id, operation, deps, repeatedOnly)));
  // Only now: what is thrown must find nothing of the page under way.
  const results = ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
  const excluded: Partial<Record<Exclusion, number>> = {};
  const outgoing: QueuedMessage[] = [];
  let taken = 0;
  for (const result of results) {
    if (result === undefined) continue;
    if (typeof result === 'string') excluded[result] = (excluded[result] ?? 0) + 1;
    else {
      taken += 1;
      if (result.message !== undefined) outgoing.push(result.message);
    }
  }
  const refused = outgoing.length === 0 ? [] : await deps.send(outgoing);
  return { ...NOTHING, taken, left_to_sweep: refused.length, excluded };
}

/** Milliseconds before the end of its claim from which a process takes nothing: clocks are up to 2.5 s apart. */
const LATE_MS = 5_000;

/** Another process may go on from here, or may have counted the page for a cancel: what is taken now nobody counts. */
export class ClaimEndedError extends ExplainedError {
  override readonly name = 'ClaimEndedError';
}

async function takeOne(
  log_id: string,
  operation: Operation,
  deps: TakeDeps,
  repeatedOnly: boolean,
): Promise<Taken | Exclusion | undefined> {
  const isCorrected = operation.kind === 'correct';
  const change: RowStore['change'] = (was, next) =>
    isCorrected ? deps.correct(was, next, {}) : deps.rows.change(was, next);
  const { row, plan, changed } = await changeRow(log_id, { read: deps.rows.read, change }, (found) => {
    const now = deps.clock();
    if (found.replay_id === operation.operation_id)
      return { repeated: repeatedMessage(found, operation, now), change: undefined };
    if (repeatedOnly) return undefined;
    const choice = choose({ ...found }, operation, now, deps.policy);
    const isLate = operation.claim_until !== undefined && leaseLeftMs(operation, now) <= LATE_MS;
    if (choice.change && isLate) throw new ClaimEndedError('Storage took longer than the claim lasts.');
    return choice;
  });
  if (plan === undefined) return row === undefined && !repeatedOnly ? 'deleted' : undefined;
  if ('repeated' in plan) return plan.repeated;
  if ('exclude' in plan) return plan.exclude;
  if (changed === undefined) return 'retrying';
  if (plan.message === undefined) return {};
  const message = queuedUntil(messageFor(row, plan.message.due, runIdOf(operation)), deps.clock());
  return message === undefined ? {} : { message };
}

/**
 * It was taken before a crash. Its message may be lost; a second one for the same time finds nothing to do, and must not
 * pass for a redrive if the first one dies meanwhile. A row that was changed before it is due has had an attempt, or was held,
 * since: it has another message.
 */
function repeatedMessage(row: NotificationRow, operation: Operation, now: Date): Taken {
  const isSent = ['redrive', 'retry', 'correct'].includes(operation.kind);
  if (!isSent || stateOf(row, now) !== 'due' || row.work_at === undefined) return {};
  if (row.updated_at !== undefined && row.updated_at < row.work_at) return {};
  const run_id = withToken(runIdOf(operation), now.getTime().toString(36));
  return { message: { message: messageFor(row, row.work_at, run_id), delay_seconds: 0 } };
}

const runIdOf = ({ operation_id }: Operation): string => `manual-${operation_id}`;
