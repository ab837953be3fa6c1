import { CHANNELS } from '../model/channels.ts';
import { arrived, type NotificationRow, type RetryRecord } from '../model/notification.ts';
import { originOf, type ReceivedMessage } from '../model/queue-message.ts';
import { type Clock, epochMs } from '../model/time.ts';
import type { MalformedEntry, RowFault } from '../model/work-index.ts';
import { fitsMessage } from '../model/work-rules.ts';
import type { DeliveryOutcome } from './attempt.ts';
import { dispositionOf, type SettleDeps, settleAttempt } from './conclude-attempt.ts';
import { CLAIM_MS, CLOCK_ERROR_MS } from './policy/attempt-times.ts';
import type { RecordStore, RowStore } from './ports.ts';
import { crashedAfterArrival, isOfClaim, owedRecord, recordedAttempt, recordOfCrash } from './retry-record.ts';
import { CRASHED, RECORD_WRITTEN } from './transitions/settlements.ts';
import { removalOfMisindexed, returnedToDead, shownDelivered } from './transitions/without-attempt.ts';

type TakeOverDeps = SettleDeps & LeaveDeps;

/** `changed`: the attempt is recorded as crashed and the next one is due now, or others were faster. */
type Takeover = DeliveryOutcome | 'changed';

/** `alone`: no other attempt is under way in the worker, so that a crash is the fault of this one. */
export interface WorkMode {
  readonly alone: boolean;
}

/**
 * Ends the attempt of a worker that crashed. Its record decides; without a record the attempt is recorded as crashed and
 * the next one is due now, which is done only in a worker that has no other attempt under way.
 */
export async function takeOver(
  row: NotificationRow,
  received: ReceivedMessage,
  deps: TakeOverDeps,
  { alone }: WorkMode,
): Promise<Takeover> {
  const record = await deps.records.find(row.log_id, row.last_attempt);
  if (record !== undefined && isOfClaim(record, row)) {
    return isForcedAttemptOnDead(row, record)
      ? returnToDead(row, received, deps)
      : settleByRecord(row, record, received, deps);
  }
  if (alone) return settleAfterCrash(row, record, received, deps);
  return { disposition: { do: 'isolate', claim_until: row.claim_until ?? '' } };
}

/**
 * Whether a takeover of a forced attempt on a dead notification crashed after it had written the record and before it
 * changed the row. A claimed row that has a failure_reason was dead, and a worker records a forced attempt as a success
 * or as its end. Only a takeover records a failure without an end.
 */
function isForcedAttemptOnDead(row: NotificationRow, { retry_status, failure_reason }: RetryRecord): boolean {
  const goesOn = retry_status === 'FAILED' && failure_reason === undefined;
  return goesOn && row.failure_reason !== undefined && !arrived(row.delivery_by_attempt);
}

/**
 * No attempt follows a forced one. The message at hand becomes the letter, as the letter from before may be gone: it was
 * received during the forced attempt, or was redriven.
 */
async function returnToDead(
  row: NotificationRow,
  received: ReceivedMessage,
  { clock, rows }: TakeOverDeps,
): Promise<Takeover> {
  if (!(await rows.change(row, returnedToDead(row, received, clock())))) return 'changed';
  return { disposition: { do: 'dead_letter' }, dropped: 'its forced attempt died' };
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
  const { settled, verdict, ...requeued } = await settleAttempt(attempt, deps, 'another');
  if (!settled) return 'changed';
  return { ...requeued, disposition: dispositionOf(verdict), attempt: row.last_attempt, verdict };
}

/** @param older a record of the same number, from a version that used numbers again */
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

interface LeaveDeps {
  readonly rows: Pick<RowStore, 'change'>;
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly claim_ms: number;
}

/** `claim_left_ms`: not yet, because until then a worker may settle the row, and its attempt would count for nothing. */
export type Departure = { readonly why: string } | { readonly claim_left_ms: number } | 'changed';

/**
 * Whoever may write to the table may have put the row into the work index, or spoilt it since; or its channel is gone.
 * Nothing is taken from under a claim, and an attempt whose worker crashed is concluded by its record, as when another
 * worker takes it over: what was recorded as delivered, or shown to have arrived, is delivered.
 * @param faults the rules that the row breaks @returns undefined where the row may stay
 */
export async function leaveIndex(
  row: NotificationRow,
  faults: readonly RowFault[],
  deps: LeaveDeps,
): Promise<Departure | undefined> {
  const now = deps.clock();
  const removal = removalOfMisindexed(row, faults, now);
  if (removal === undefined) return undefined;
  const claim_left_ms = claimLeftMs(row, now, deps.claim_ms);
  if (claim_left_ms > 0) return { claim_left_ms };
  const { change, why } = (await concluded(row, now, deps)) ?? removal;
  return (await deps.rows.change(row, change)) ? { why } : 'changed';
}

/**
 * Milliseconds until the holder of a claim can settle no more, with a margin for clocks that differ. A claim that would
 * last more than twice as long as ours was written by somebody else, and does not count.
 */
export function claimLeftMs({ send_status, claim_until = '' }: NotificationRow, now: Date, claim_ms: number): number {
  const left = send_status === 'SENDING' ? epochMs(claim_until) + CLOCK_ERROR_MS - now.getTime() : 0;
  return left <= 2 * claim_ms ? left : 0;
}

/** `run_id` of a record that is written without a message. */
const RUN_ID = 'sweep-set-aside';

const SET_ASIDE = {
  verdict: { status: 'FAILED', error_type: 'UNKNOWN', failure_reason: 'FORMAT_ERROR', dead_letter: false },
  remark: 'the provider may or may not have taken the message, and the row was set aside',
} as const;

/** Records the attempt of a worker that crashed. @returns the change to `delivered`, where it is known to have arrived */
async function concluded(row: NotificationRow, now: Date, { records }: LeaveDeps) {
  if (row.send_status === 'SUCCESS') return undefined;
  const delivered = (at: string) => ({ change: shownDelivered(row, {}, at), why: 'it is delivered already' });
  const shown = arrived(row.delivery_by_attempt) ? delivered(row.delivered_at ?? now.toISOString()) : undefined;
  if (row.send_status !== 'SENDING' || !isRecordable(row)) return shown;
  const record = await records.find(row.log_id, row.last_attempt);
  if (record !== undefined && isOfClaim(record, row))
    return record.retry_status === 'SUCCESS' ? delivered(record.retry_at) : shown;
  const crashed = recordOfCrash(row, {
    run_id: RUN_ID,
    requested_by: 'schedule',
    now,
    ...(shown ? crashedAfterArrival(now) : SET_ASIDE),
  });
  await (record ? records.replace(crashed, record) : records.putIfAbsent(crashed));
  return shown;
}

/** Whether the columns that the record copies are sound: a foreign writer may have overwritten them. */
function isRecordable({ log_id, tenant_id, channel, last_attempt }: NotificationRow): boolean {
  const numbered = Number.isSafeInteger(last_attempt) && last_attempt >= 0 && CHANNELS.includes(channel);
  return numbered && fitsMessage('log_id', log_id) && fitsMessage('tenant_id', tenant_id);
}

/** The rows behind entries of the work index that no lane takes. */
export function malformedEntries(deps: Omit<LeaveDeps, 'claim_ms'> & { readonly rows: RowStore }) {
  return {
    /** @returns why it left the index; undefined where the row has changed since, or a worker has it */
    setAside: async ({ log_id, work_queue, work_at, faults }: MalformedEntry): Promise<string | undefined> => {
      const row = await deps.rows.read(log_id);
      if (row?.work_queue !== work_queue || row.work_at !== work_at) return undefined;
      if (owesRecord(row)) {
        const { dropped, record_error } = await repairRecord(row, deps);
        if (record_error !== undefined) throw record_error;
        return dropped;
      }
      const left = await leaveIndex(row, faults, { ...deps, claim_ms: CLAIM_MS });
      return typeof left === 'object' && 'why' in left ? left.why : undefined;
    },
  };
}

export function owesRecord({ send_status, record_due }: NotificationRow): boolean {
  return send_status === 'SUCCESS' && record_due !== undefined;
}

/**
 * Writes the record that a delivered row owes, then takes the row out of the work index. A record that is there already
 * stays: a delivery event may have corrected it. If RetryLog still refuses, the row stays for the next sweep.
 */
export async function repairRecord(
  row: NotificationRow,
  { rows, records }: Pick<LeaveDeps, 'rows' | 'records'>,
): Promise<DeliveryOutcome> {
  const disposition = { do: 'done' } as const;
  const record = owedRecord(row);
  try {
    if (record !== undefined) await records.putIfAbsent(record);
    await rows.change(row, RECORD_WRITTEN);
    return { disposition, dropped: 'it is delivered already; the record that its row owed is written' };
  } catch (record_error) {
    return { disposition, dropped: 'it is delivered already, and its row still owes its record', record_error };
  }
}
