import { CHANGE_TRIES, type RowStore } from '../delivery/ports.ts';
import { hastened, revival } from '../delivery/transitions/without-attempt.ts';
import { changeUntil } from '../model/changes.ts';
import type { Channel } from '../model/channels.ts';
import type { NotificationRow, RequestedBy } from '../model/notification.ts';
import { messageFor, type QueuedMessage, type QueueMessage, type RunOptions } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { checkRetry } from '../model/row-state.ts';
import type { Clock } from '../model/time.ts';

export type RetryPlan =
  | {
      readonly do: 'queue';
      /** The due time that the message names. */
      readonly due: string;
      /** The change to write before the message is sent. */
      readonly change?: RowChange;
      readonly options?: RunOptions;
    }
  | { readonly do: 'refuse'; readonly because: string; readonly change?: undefined };

/** What an operator's redrive of one notification does: only a dead one starts anew, with a full budget. */
function planRedrive(row: NotificationRow, now: Date, policy: RetryPolicy): RetryPlan {
  const check = checkRetry(row, now);
  if ('refused' in check) return { do: 'refuse', because: check.refused };
  if (check.state !== 'dead') return { do: 'refuse', because: `it is ${check.state}, not dead: retry it` };
  return { do: 'queue', due: now.toISOString(), change: revival(row, now, policy) };
}

/** A notification that somebody asks for by name is sent even while a breaker is open: it is the probe. */
const BY_NAME: RunOptions = { force: true, named: true };

/** What an operator's "retry now" does for a row as it is. */
export function planRetry(row: NotificationRow, now: Date, policy: RetryPolicy): RetryPlan {
  const check = checkRetry(row, now);
  if ('refused' in check) return { do: 'refuse', because: check.refused };
  const due = now.toISOString();
  switch (check.state) {
    case 'abandoned':
      // Like the crashed worker's own message: the worker that receives this one takes the attempt over.
      return { do: 'queue', due: row.work_at ?? due };
    case 'due':
    case 'waiting':
      // Replaces the pending retry: a message for the old time is a straggler.
      return { do: 'queue', due, change: hastened(row, now), options: BY_NAME };
    case 'dead':
      // One attempt, as with `--force-retry`. If the attempt fails, the notification is dead again.
      return { do: 'queue', due: row.work_at ?? due, options: BY_NAME };
    case 'stopped':
      return { do: 'queue', due, change: revival(row, now, policy) };
  }
}

export interface RetryResult {
  readonly log_id: string;
  /** `failed`: it can be retried, but not at this moment; run the command again. */
  readonly result: 'queued' | 'refused' | 'failed' | 'not_found';
  readonly because?: string;
}

export interface RetryDeps {
  readonly rows: RowStore;
  /** Returns the messages that could not be sent. */
  readonly send: (messages: readonly QueuedMessage[]) => Promise<readonly QueuedMessage[]>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  /** Who asks; an operator unless given. */
  readonly requested_by?: RequestedBy;
  /** Starts dead notifications anew, with a full budget of retries, and takes no others. */
  readonly redrive?: boolean;
}

/** Retries each notification now. The row is changed first: if the command crashes then, the next sweep sends it. */
export async function retryNow(
  log_ids: readonly string[],
  run_id: string,
  deps: RetryDeps,
): Promise<{ results: RetryResult[]; messages: QueueMessage[] }> {
  const prepared = await Promise.all([...new Set(log_ids)].map((log_id) => prepare(log_id, run_id, deps)));
  const outgoing = prepared.flatMap(({ message }) => (message ? [{ message, delay_seconds: 0 }] : []));
  const refused = new Set((await deps.send(outgoing)).map(({ message }) => message.log_id));
  const results = prepared.map(({ result, changed }) => {
    if (!refused.has(result.log_id)) return result;
    return changed
      ? { ...result, because: LEFT_TO_SWEEP }
      : { ...result, result: 'failed' as const, because: 'SQS did not take its message; run the command again' };
  });
  const messages = outgoing.map(({ message }) => message).filter(({ log_id }) => !refused.has(log_id));
  return { results, messages };
}

interface Prepared {
  readonly result: RetryResult;
  readonly message?: QueueMessage;
  readonly changed?: boolean;
}

async function prepare(log_id: string, run_id: string, deps: RetryDeps): Promise<Prepared> {
  const { rows, policy, clock, requested_by, redrive = false } = deps;
  const planned = (found: NotificationRow): RetryPlan => (redrive ? planRedrive : planRetry)(found, clock(), policy);
  const { row, plan, changed } = await changeRow(log_id, rows, planned);
  if (plan === undefined) return { result: { log_id, result: 'not_found', because: NOT_FOUND } };
  if (plan.do === 'refuse') return { result: { log_id, result: 'refused', because: plan.because } };
  if (changed === undefined) return { result: { log_id, result: 'failed', because: OUTRUN } };
  const message = messageFor(row, plan.due, run_id, { options: plan.options, requested_by });
  return { result: { log_id, result: 'queued' }, message, changed: plan.change !== undefined };
}

/** Changes the row of a notification as it is planned, unless others keep changing it. */
export function changeRow<Plan extends { readonly change?: RowChange | undefined }>(
  log_id: string,
  rows: RowStore,
  plan: (row: NotificationRow) => Plan | undefined | Promise<Plan>,
) {
  const change = async (row: NotificationRow, { change: next }: Plan) => next === undefined || rows.change(row, next);
  return changeUntil(() => rows.read(log_id), plan, change, { tries: CHANGE_TRIES });
}

export const LEFT_TO_SWEEP = 'SQS did not take its message; it is due, and the next sweep sends it';
export const CHANGED = 'it has changed since it was shown: look at it again';
export const NOT_FOUND = 'there is no such notification';
export const OUTRUN = 'other processes kept changing it; look at it with `ops show`, then run the command again';
/** For the log, where letters could not be deleted. */
export const lettersStay = (channel: Channel): string =>
  `dead letters of ${channel} stay: dlq drop --channel ${channel} --stale deletes them`;
