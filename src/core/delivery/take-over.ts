import { arrived } from '../model/delivery-by-attempt.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import type { ReceivedMessage } from '../model/queue-message.ts';
import { epochMs } from '../model/time.ts';
import { workQueueOf } from '../model/work-index.ts';
import { dispositionOf, type SettleDeps, settleAttempt } from './conclude-attempt.ts';
import type { DeliveryOutcome } from './delivery-report.ts';
import type { RecordStore } from './ports.ts';
import { recordedAttempt } from './recorded-attempt.ts';
import { recordOfDied } from './retry-record.ts';

export interface TakeOverDeps extends SettleDeps {
  readonly records: RecordStore;
  /** Milliseconds that a claim lasts. */
  readonly claim_ms: number;
}

export type Takeover =
  | { readonly outcome: DeliveryOutcome }
  /** The attempt is settled as died; the next attempt of this row is due now. */
  | { readonly due: NotificationRow };

/**
 * Ends the attempt of a worker that died: its record counts; without a record, the next attempt is due (design §6.2).
 * @param alone whether no other message's attempt shares the worker
 */
export async function takeOver(
  row: NotificationRow,
  received: ReceivedMessage,
  deps: TakeOverDeps,
  alone: boolean,
): Promise<Takeover> {
  const record = await deps.records.find(row.log_id, row.last_attempt);
  if (record !== undefined && isOfClaim(record, row, deps)) {
    return { outcome: await settleByRecord(row, record, received, deps) };
  }
  return alone ? settleAsDied(row, received, deps) : { outcome: { disposition: { do: 'isolate' } } };
}

/** A writer that replaces the row starts its attempts anew: an older record says nothing about this claim. */
function isOfClaim({ retry_at }: RetryRecord, { claim_until }: NotificationRow, { claim_ms }: TakeOverDeps): boolean {
  return epochMs(retry_at) >= epochMs(claim_until ?? '') - claim_ms;
}

async function settleByRecord(
  row: NotificationRow,
  record: RetryRecord,
  received: ReceivedMessage,
  deps: TakeOverDeps,
): Promise<DeliveryOutcome> {
  const recorded = recordedAttempt(row, record, received, deps.clock());
  // An event may have shown since then that nothing is left to do.
  const attempt = arrived(row.delivery_by_attempt)
    ? { ...recorded, verdict: { status: 'SUCCESS' } as const }
    : recorded;
  const { settled, verdict, ...requeued } = await settleAttempt(attempt, received.message, deps);
  return settled
    ? { ...requeued, disposition: dispositionOf(verdict), attempt: row.last_attempt, verdict }
    : { disposition: { do: 'done' }, dropped: 'another worker settled it' };
}

async function settleAsDied(row: NotificationRow, { message }: ReceivedMessage, deps: TakeOverDeps): Promise<Takeover> {
  const now = deps.clock();
  await deps.records.put(
    recordOfDied(row, {
      run_id: message.run_id,
      now,
      verdict: { status: 'RETRY', error_type: 'UNKNOWN', next_retry_at: now.toISOString(), counted: true },
      remark: 'the provider may or may not have taken the message',
    }),
  );
  // A row with a failure_reason is dead: its attempt was the one that an operator forced, and there is no other.
  if (row.failure_reason !== undefined && !arrived(row.delivery_by_attempt)) {
    const work_queue = workQueueOf('dead', row.priority, row.log_id);
    await deps.rows.settle(row, { set: { send_status: 'FAILED', work_queue, work_at: now.toISOString() } });
    return { outcome: { disposition: { do: 'done' }, dropped: 'its forced attempt died' } };
  }
  const freed = await deps.rows.settle(row, { set: { send_status: 'RETRY' } });
  return freed
    ? { due: { ...row, send_status: 'RETRY' } }
    : { outcome: { disposition: { do: 'done' }, dropped: 'another worker was faster' } };
}
