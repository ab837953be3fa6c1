import { findSuccessor } from '../delivery/failover.ts';
import type { RecordStore, RowStore } from '../delivery/ports.ts';
import { crashedAfterArrival, isOfClaim, recordOfCrash } from '../delivery/retry-record.ts';
import { CANCELLATION, GIVEN_UP, shownDelivered } from '../delivery/transitions/without-attempt.ts';
import { failedBecause } from '../delivery/verdict.ts';
import { arrived, type NotificationRow } from '../model/notification.ts';
import type { RowChange } from '../model/row-change.ts';
import { stateOf } from '../model/row-state.ts';
import type { Clock } from '../model/time.ts';
import { changeRow, NOT_FOUND, OUTRUN } from './retry-now.ts';

/** `ended`: nothing was left to do. */
interface Result<Done> {
  readonly log_id: string;
  readonly result: Done | 'ended' | 'refused' | 'not_found';
  readonly because?: string;
}
export type CancelResult = Result<'cancelled'>;
export type GiveUpResult = Result<'given_up'>;

/** What became of an attempt whose worker crashed, when its notification is cancelled. */
const CANCELLED = {
  verdict: failedBecause('CANCELLED', 'UNKNOWN'),
  remark: 'then an operator cancelled the notification',
} as const;

const DELIVERED = { result: 'ended', because: 'it is delivered already' } as const;

export interface CancelDeps {
  readonly rows: RowStore;
  readonly records: RecordStore;
  readonly clock: Clock;
}

/**
 * Cancels all further retries by one conditional write per notification; what an event has shown to have arrived is
 * delivered. A command that crashes in between has cancelled some notifications and left the others unchanged.
 */
export function cancel(log_ids: readonly string[], run_id: string, deps: CancelDeps): Promise<CancelResult[]> {
  return Promise.all([...new Set(log_ids)].map((log_id) => cancelOne(log_id, run_id, deps)));
}

async function cancelOne(log_id: string, run_id: string, deps: CancelDeps): Promise<CancelResult> {
  const { row, plan, changed } = await changeRow(log_id, deps.rows, async (found): Promise<CancelPlan> => {
    const answer = await reasonNotToCancel(found, run_id, deps);
    if (answer !== undefined) return { answer };
    if (!arrived(found.delivery_by_attempt)) return { answer: { result: 'cancelled' }, change: CANCELLATION };
    return { answer: DELIVERED, change: shownDelivered(found, {}, found.delivered_at ?? deps.clock().toISOString()) };
  });
  if (plan === undefined) return { log_id, result: 'not_found', because: NOT_FOUND };
  if (changed === undefined) return { log_id, result: 'refused', because: OUTRUN };
  const { answer } = plan;
  const repeated = plan.change === undefined && answer.result === 'ended' && row.failure_reason === 'CANCELLED';
  const handed_on = repeated || (answer.result === 'cancelled' && row.send_status === 'SENDING');
  return { log_id, ...answer, ...(handed_on && (await cancelSuccessor(row, run_id, deps))) };
}

interface CancelPlan {
  readonly answer: Omit<CancelResult, 'log_id'>;
  readonly change?: RowChange;
}

/** A worker that crashed before it settled the row may have handed it on already. @returns why that is not cancelled */
async function cancelSuccessor(row: NotificationRow, run_id: string, deps: CancelDeps) {
  const successor = await findSuccessor(row, deps);
  if (successor === undefined) return {};
  const { result, because } = await cancelOne(successor.log_id, run_id, deps);
  const goesOn = result === 'refused' || because === DELIVERED.because;
  return goesOn ? { because: `its successor ${successor.log_id}: ${because}` } : {};
}

/** The answer if the notification cannot be cancelled. Undefined if it can. */
async function reasonNotToCancel(
  row: NotificationRow,
  run_id: string,
  { records, clock }: Pick<CancelDeps, 'records' | 'clock'>,
): Promise<Omit<CancelResult, 'log_id'> | undefined> {
  const now = clock();
  switch (stateOf(row, now)) {
    case 'delivered':
      return DELIVERED;
    case 'stopped':
    case 'set_aside':
      return { result: 'ended', because: `it was given up already: ${row.failure_reason}` };
    case 'claimed':
      return {
        result: 'refused',
        because: `an attempt is under way until ${row.claim_until} at the latest; cancel it again after that`,
      };
    case 'not_taken_in':
      return { result: 'refused', because: 'it is not in the work index yet; try again in a few seconds' };
    case 'abandoned': {
      const stored = await records.find(row.log_id, row.last_attempt);
      const record = stored && isOfClaim(stored, row) ? stored : undefined;
      if (record?.retry_status === 'SUCCESS') {
        return { result: 'ended', because: 'its last attempt delivered it; the next sweep settles that' };
      }
      // Every settled attempt has a record (docs/architecture.md, invariant 6), and this settles the attempt of a
      // worker that crashed.
      if (record !== undefined) return undefined;
      const ending = arrived(row.delivery_by_attempt) ? crashedAfterArrival(now) : CANCELLED;
      const crashed = recordOfCrash(row, { run_id, now, ...ending });
      if (await (stored ? records.replace(crashed, stored) : records.putIfAbsent(crashed))) return undefined;
      return reasonNotToCancel(row, run_id, { records, clock });
    }
    default:
      return undefined;
  }
}

type GiveUpDeps = Pick<CancelDeps, 'rows' | 'clock'>;

/** Takes dead notifications off the list for good. `retry`, or a redrive with the stopped ones, can still send them. */
export function giveUp(log_ids: readonly string[], deps: GiveUpDeps): Promise<GiveUpResult[]> {
  return Promise.all([...new Set(log_ids)].map((log_id) => giveUpOne(log_id, deps)));
}

async function giveUpOne(log_id: string, { rows, clock }: GiveUpDeps): Promise<GiveUpResult> {
  const { plan, changed } = await changeRow(log_id, rows, (row) => {
    const state = stateOf(row, clock());
    return { state, change: state === 'dead' ? GIVEN_UP : undefined };
  });
  if (plan === undefined) return { log_id, result: 'not_found', because: NOT_FOUND };
  if (!plan.change) return { log_id, result: 'ended', because: `it is ${plan.state.replaceAll('_', ' ')}, not dead` };
  if (changed) return { log_id, result: 'given_up' };
  return { log_id, result: 'refused', because: 'other processes kept changing it; look at it, then do it again' };
}
