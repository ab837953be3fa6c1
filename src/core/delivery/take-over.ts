import { arrived, type NotificationRow, type RetryRecord } from '../model/notification.ts';
import { originOf, type ReceivedMessage } from '../model/queue-message.ts';
import { epochMs } from '../model/time.ts';
import type { DeliveryOutcome } from './attempt.ts';
import { dispositionOf, type SettleDeps, settleAttempt } from './conclude-attempt.ts';
import type { RecordStore } from './ports.ts';
import { recordedAttempt, recordOfCrash } from './retry-record.ts';
import { CRASHED, returnedToDead } from './transitions/settlements.ts';

export interface TakeOverDeps extends SettleDeps {
  readonly records: RecordStore;
  /** Milliseconds that a claim lasts. */
  readonly claim_ms: number;
}

export type Takeover =
  | { readonly outcome: DeliveryOutcome }
  /** The row has changed: the attempt is recorded as crashed and the next one is due now, or others were faster. */
  | 'changed';

/** Whether no other message's attempt shares the worker. */
export interface Company {
  readonly alone: boolean;
}

/** Ends the attempt of a worker that crashed: its record counts; without a record, the next attempt is due. */
export async function takeOver(
  row: NotificationRow,
  received: ReceivedMessage,
  deps: TakeOverDeps,
  { alone }: Company,
): Promise<Takeover> {
  const record = await deps.records.find(row.log_id, row.last_attempt);
  if (record !== undefined && isOfClaim(record, row, deps)) {
    return isForcedAttemptOnDead(row, record)
      ? returnToDead(row, received, deps)
      : settleByRecord(row, record, received, deps);
  }
  return alone ? settleAfterCrash(row, record, received, deps) : { outcome: { disposition: { do: 'isolate' } } };
}

/**
 * A writer that replaces the row starts its attempts anew: an older record says nothing about this claim. Records of an
 * earlier version name no claim, and their times decide, by the present length of a claim.
 */
function isOfClaim(record: RetryRecord, row: NotificationRow, { claim_ms }: TakeOverDeps): boolean {
  if (record.claim_id !== undefined && row.claim_id) return record.claim_id === row.claim_id;
  return epochMs(record.retry_at) >= epochMs(row.claim_until ?? '') - claim_ms;
}

/**
 * A row with a failure_reason is dead: its attempt was the one that an operator forced. Its worker would have recorded
 * a success or an end, so a failure that goes on is the record of a takeover that crashed before it changed the row.
 */
function isForcedAttemptOnDead(row: NotificationRow, { retry_status, failure_reason }: RetryRecord): boolean {
  const goesOn = retry_status === 'FAILED' && failure_reason === undefined;
  return goesOn && row.failure_reason !== undefined && !arrived(row.delivery_by_attempt);
}

/**
 * No other attempt follows the forced one. The message at hand becomes the letter: the one from before may be gone, as it
 * met the claim of the forced attempt, or was redriven meanwhile.
 */
async function returnToDead(
  row: NotificationRow,
  received: ReceivedMessage,
  { clock, rows }: TakeOverDeps,
): Promise<Takeover> {
  if (!(await rows.change(row, returnedToDead(row, received, clock())))) return 'changed';
  return { outcome: { disposition: { do: 'dead_letter' }, dropped: 'its forced attempt died' } };
}

async function settleByRecord(
  row: NotificationRow,
  record: RetryRecord,
  received: ReceivedMessage,
  deps: TakeOverDeps,
): Promise<Takeover> {
  const recorded = recordedAttempt(row, record, received, deps.clock());
  // An event may have shown since then that nothing is left to do.
  const attempt = arrived(row.delivery_by_attempt)
    ? { ...recorded, verdict: { status: 'SUCCESS' } as const }
    : recorded;
  // An event may come now, too: it says what it knows on the row, and leaves the rest to the worker that takes over.
  const rows = { ...deps.rows, settle: deps.rows.change };
  const { settled, verdict, ...requeued } = await settleAttempt(attempt, { ...deps, rows });
  if (!settled) return 'changed';
  return { outcome: { ...requeued, disposition: dispositionOf(verdict), attempt: row.last_attempt, verdict } };
}

/** @param older a record of the same attempt, of a row that its writer has replaced since */
async function settleAfterCrash(
  row: NotificationRow,
  older: RetryRecord | undefined,
  received: ReceivedMessage,
  deps: TakeOverDeps,
): Promise<Takeover> {
  const { records, rows } = deps;
  const now = deps.clock();
  const crashed = recordOfCrash(row, {
    run_id: received.message.run_id,
    ...originOf(received.message),
    now,
    verdict: { status: 'RETRY', error_type: 'UNKNOWN', next_retry_at: now.toISOString(), counted: true },
    remark: 'the provider may or may not have taken the message',
  });
  // An event may have recorded the attempt since the record was looked for.
  if (!(await (older ? records.replace(crashed, older) : records.putIfAbsent(crashed)))) return 'changed';
  if (isForcedAttemptOnDead(row, crashed)) return returnToDead(row, received, deps);
  await rows.change(row, CRASHED);
  return 'changed';
}
