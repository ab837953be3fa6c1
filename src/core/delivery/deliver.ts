import { setAside } from '../model/column-rules.ts';
import type { NotificationRow } from '../model/notification.ts';
import { originOf, type ReceivedMessage, randomToken, runOf } from '../model/queue-message.ts';
import { type RowChange, withChange } from '../model/row-change.ts';
import { epochMs } from '../model/time.ts';
import { workFaults } from '../model/work-rules.ts';
import { type Claim, planClaim, reasonNotToSend } from './claim-plan.ts';
import { type ConcludeDeps, concludeAttempt } from './conclude-attempt.ts';
import { type ConductDeps, conductAttempt } from './conduct-attempt.ts';
import type { DeliveryOutcome, DeliveryReport } from './delivery-report.ts';
import { CHANGE_TRIES } from './ports.ts';
import { repairRecord } from './repair-record.ts';
import { takeOver } from './take-over.ts';

export interface DeliverDeps extends ConductDeps, ConcludeDeps {
  /** Milliseconds that a claim lasts: longer than a worker can live, so the holder of an expired claim is dead. */
  readonly claim_ms: number;
}

/**
 * Delivers one message: claim, send, record, settle. It never rejects: a fault of one notification is in
 * its report, and its message comes back.
 * @param alone whether no other message's attempt shares the worker; an attempt that killed its worker is only made
 * alone.
 */
export async function deliver(received: ReceivedMessage, deps: DeliverDeps, alone: boolean): Promise<DeliveryReport> {
  const { log_id, tenant_id, channel, priority, run_id } = received.message;
  const report = { log_id, tenant_id, channel, priority, run_id: runOf(run_id) };
  try {
    return { ...report, ...(await claimAndAttempt(received, deps, alone)) };
  } catch (error) {
    // The claim, if there is one, runs out before SQS shows the message again.
    return { ...report, disposition: { do: 'return', after_seconds: Math.ceil(deps.claim_ms / 1000) }, error };
  }
}

async function claimAndAttempt(received: ReceivedMessage, deps: DeliverDeps, alone: boolean): Promise<DeliveryOutcome> {
  const { message } = received;
  const early = epochMs(message.due) - deps.clock().getTime();
  if (early > 0) return { disposition: { do: 'return', after_seconds: Math.ceil(early / 1000) } };
  const plain = message.options === undefined && received.receive_count === 1;
  if (!plain) return considerRow(await deps.rows.read(message.log_id), received, deps, alone);
  const by = randomToken(deps.random);
  const { claimed, row } = await deps.rows.claim(message, claimUntil(deps), by).catch(async (error: unknown) => {
    return { claimed: true, row: await claimedBy(by, message.log_id, deps, error) };
  });
  if (!claimed || row === undefined) return considerRow(row, received, deps, alone);
  const malformed = leavingIndex(beforeClaim(row), deps.clock());
  if (malformed) {
    return (await deps.rows.settle(row, malformed.change))
      ? left(malformed.why)
      : dropped('the row has changed meanwhile');
  }
  const skip = reasonNotToSend(row, deps.clock(), deps.policy);
  return makeAttempt(row, { ...originOf(message), counted: true, ...(skip && { skip }) }, received, deps);
}

/**
 * A claim may have been applied although its call failed. Then the row has its token, and the attempt need not wait for
 * the end of its own claim (docs/decisions/delivery/workers-that-die.md#0175).
 * @returns the row as claimed
 * @throws the error of the claim if it was not applied, or if nobody knows
 */
async function claimedBy(by: string, log_id: string, { rows }: DeliverDeps, error: unknown): Promise<NotificationRow> {
  const row = await rows.read(log_id).catch(() => undefined);
  if (row?.send_status === 'SENDING' && row.claim_id === by) return row;
  throw error;
}

/** Seconds until a message is visible again whose row others keep changing. */
const CHANGING_SECONDS = 5;

/**
 * Decides by the row as it is; for every message that does not simply claim its row. Another write may come between the
 * decision and ours: of an event that shows that the notification arrived, of its writer, of another worker. Then the
 * row is read again, and the decision made anew.
 */
async function considerRow(
  found: NotificationRow | undefined,
  received: ReceivedMessage,
  deps: DeliverDeps,
  alone: boolean,
): Promise<DeliveryOutcome> {
  let row = found;
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const outcome = await considerOnce(row, received, deps, alone);
    if (outcome !== 'changed') return outcome;
    row = await deps.rows.read(received.message.log_id);
  }
  return { disposition: { do: 'return', after_seconds: CHANGING_SECONDS } };
}

async function considerOnce(
  row: NotificationRow | undefined,
  received: ReceivedMessage,
  deps: DeliverDeps,
  alone: boolean,
): Promise<DeliveryOutcome | 'changed'> {
  if (row?.send_status === 'SUCCESS' && row.record_due !== undefined) return repairRecord(row, deps);
  const malformed = row && leavingIndex(row, deps.clock());
  if (row && malformed) return (await deps.rows.change(row, malformed.change)) ? left(malformed.why) : 'changed';
  const by = randomToken(deps.random);
  const plan = planClaim(row, received, { now: deps.clock(), until: claimUntil(deps), by }, deps.policy);
  if (plan.do === 'drop' || row === undefined) {
    return dropped(plan.do === 'drop' ? plan.because : 'there is no such notification');
  }
  if (plan.do === 'dead_letter') {
    if (plan.change !== undefined && !(await deps.rows.change(row, plan.change))) return 'changed';
    return { disposition: { do: 'dead_letter' } };
  }
  if (plan.do === 'wait') return { disposition: { do: 'return', after_seconds: plan.after_seconds } };
  if (plan.do === 'take_over') {
    const takeover = await takeOver(row, received, deps, alone);
    return takeover === 'changed' ? takeover : takeover.outcome;
  }
  const won = await deps.rows
    .change(row, plan.change)
    .catch(async (error: unknown) => (await claimedBy(by, row.log_id, deps, error)) !== undefined);
  return won ? makeAttempt(withChange(row, plan.change), plan, received, deps) : 'changed';
}

async function makeAttempt(
  row: NotificationRow,
  claim: Claim,
  received: ReceivedMessage,
  deps: DeliverDeps,
): Promise<DeliveryOutcome> {
  return concludeAttempt(await conductAttempt({ row, claim, received }, deps), deps);
}

/** The counters as the row's writer left them: the claim has changed them before anyone saw them. */
function beforeClaim(row: NotificationRow): NotificationRow {
  const { send_attempts, attempts_left, last_attempt } = row;
  return {
    ...row,
    send_attempts: send_attempts - 1,
    attempts_left: attempts_left + 1,
    last_attempt: last_attempt - 1,
  };
}

function left(why: string): DeliveryOutcome {
  return dropped(`it left the work index: ${why}`);
}

function dropped(because: string): DeliveryOutcome {
  return { disposition: { do: 'done' }, dropped: because };
}

function claimUntil(deps: DeliverDeps): string {
  return new Date(deps.clock().getTime() + deps.claim_ms).toISOString();
}

/** A row that is in the work index and must not be: how it leaves, and why. */
interface LeavingIndex {
  readonly change: RowChange;
  readonly why: string;
}

/**
 * Whoever may write to the table may have put the row into the work index. One that breaks a rule is set aside, and
 * stops no other; a delivered one only leaves the index, because SUCCESS is final.
 */
function leavingIndex(row: NotificationRow, now: Date): LeavingIndex | undefined {
  if (row.work_queue === undefined) return undefined;
  if (row.send_status === 'SUCCESS')
    return { change: { set: {}, remove: ['work_queue'] }, why: 'it is delivered already' };
  const faults = workFaults({ ...row });
  if (faults.length === 0) return undefined;
  const { set, why } = setAside(faults, now);
  return { change: { set, remove: ['work_queue', 'work_at'] }, why };
}
