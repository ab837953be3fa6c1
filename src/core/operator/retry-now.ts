import { CHANGE_TRIES, type RowStore } from '../delivery/ports.ts';
import { policyOf } from '../model/error-types.ts';
import type { QueuedMessage } from '../model/lanes.ts';
import type { NotificationRow } from '../model/notification.ts';
import { messageFor, type QueueMessage, type RunOptions } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { RowChange } from '../model/row-change.ts';
import { stateOf } from '../model/row-state.ts';
import type { Clock } from '../model/time.ts';
import { revival } from './revival.ts';

export type RetryPlan =
  | {
      readonly do: 'queue';
      /** The due time that the message names. */
      readonly due: string;
      /** What has to be written first. */
      readonly change?: RowChange;
      readonly options?: RunOptions;
    }
  | { readonly do: 'refuse'; readonly because: string };

/** What an operator's "retry now" means for a row as it is. What was delivered is never sent again (invariant 5). */
export function planRetry(row: NotificationRow, now: Date, policy: RetryPolicy): RetryPlan {
  const due = now.toISOString();
  if (row.is_deleted && row.send_status !== 'SUCCESS') {
    return refuse('its writer deleted it (is_deleted); if it is to be sent after all, take that back first');
  }
  switch (stateOf(row, now)) {
    case 'delivered':
      return refuse('it is delivered already; nothing sends it again');
    case 'claimed':
      return refuse(`an attempt is under way until ${row.claim_until} at the latest; look at it again after that`);
    case 'abandoned':
      // As the dead worker's own message would: whoever gets this one takes the attempt over.
      return { do: 'queue', due: row.work_at ?? due };
    case 'due':
    case 'waiting':
      // The pending retry is replaced: a message for the old time is a straggler. Forced, so that it is sent though a
      // breaker may be open: what the operator asks for by name is the probe.
      return { do: 'queue', due, change: { set: { work_at: due, next_retry_at: due } }, options: { force: true } };
    case 'dead':
      // One attempt, as `--force-retry` makes it; if it fails, the notification is dead again.
      return { do: 'queue', due: row.work_at ?? due, options: { force: true } };
    case 'stopped':
      if (row.successor_log_id !== undefined) {
        return refuse(`it goes on on its fallback channel as ${row.successor_log_id}; retry that one`);
      }
      return row.failure_reason === 'INVALID_RECIPIENT'
        ? refuse(`INVALID_RECIPIENT: ${policyOf('INVALID_RECIPIENT').remedy}`)
        : { do: 'queue', due, change: revival(row, now, policy) };
    case 'set_aside':
      return refuse('it was set aside as malformed; its writer has to correct the columns that error_message names');
    case 'not_taken_in':
      return refuse('it is not in the work index yet; try again in a few seconds');
  }
}

export interface RetryResult {
  readonly log_id: string;
  /** `failed`: nothing speaks against it, and it may go when asked for again. */
  readonly result: 'queued' | 'refused' | 'failed' | 'not_found';
  readonly because?: string;
}

export interface RetryDeps {
  readonly rows: RowStore;
  /** Gives back what could not be sent. */
  readonly send: (messages: readonly QueuedMessage[]) => Promise<readonly QueuedMessage[]>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
}

/** Each of them now. The row is changed first: if the command dies then, it is due, and the next sweep sends it. */
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
      ? { ...result, because: 'SQS did not take its message; it is due, and the next sweep sends it' }
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

async function prepare(log_id: string, run_id: string, { rows, policy, clock }: RetryDeps): Promise<Prepared> {
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const row = await rows.read(log_id);
    if (row === undefined) return { result: { log_id, result: 'not_found', because: 'there is no such notification' } };
    const plan = planRetry(row, clock(), policy);
    if (plan.do === 'refuse') return { result: { log_id, result: 'refused', because: plan.because } };
    if (plan.change !== undefined && !(await rows.change(row, plan.change))) continue;
    const message = messageFor(row, plan.due, run_id, plan.options);
    return { result: { log_id, result: 'queued' }, message, changed: plan.change !== undefined };
  }
  const because = 'others kept changing it; look at it with `ops show`, then run the command again';
  return { result: { log_id, result: 'failed', because } };
}

function refuse(because: string): RetryPlan {
  return { do: 'refuse', because };
}
