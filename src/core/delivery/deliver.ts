import type { NotificationRow } from '../model/notification.ts';
import { originOf, type QueueMessage, type ReceivedMessage, randomToken, runOf } from '../model/queue-message.ts';
import { withChange } from '../model/row-change.ts';
import { epochMs } from '../model/time.ts';
import { traceOf } from '../model/trace.ts';
import { workFaults } from '../model/work-rules.ts';
import type { Attempt, DeliveryOutcome, DeliveryReport } from './attempt.ts';
import { meetClaim, planClaim } from './claim-plan.ts';
import { type ConcludeDeps, concludeAttempt } from './conclude-attempt.ts';
import { type ConductDeps, conductAttempt } from './conduct-attempt.ts';
import { TIME_TO_BEGIN_MS } from './policy/attempt-times.ts';
import { CHANGE_TRIES } from './ports.ts';
import { type Company, leaveIndex, owesRecord, repairRecord, takeOver } from './take-over.ts';
import { removalOfClaimed } from './transitions/without-attempt.ts';
import { reasonNotToSend } from './verdict.ts';

/**
 * Delivers a batch: all messages side by side, except those whose last attempt crashed its worker. These follow alone,
 * the one that crashed last at the end: a message that crashes its worker alone, too, stops the others once, however
 * many there are.
 * @returns one report per message, in the order of the messages
 */
export async function deliverBatch(batch: readonly ReceivedMessage[], deps: DeliverDeps): Promise<DeliveryReport[]> {
  const reports = await Promise.all(batch.map((received) => deliver(received, deps, { alone: false })));
  const suspects = reports.flatMap(({ disposition }, index) =>
    disposition.do === 'isolate' ? [{ index, until: epochMs(disposition.claim_until) || 0, rank: deps.random() }] : [],
  );
  // Those that crashed together follow in random order; first comes what another writer has claimed until no time.
  for (const { index } of suspects.sort((a, b) => a.until - b.until || a.rank - b.rank)) {
    const received = batch[index];
    if (received !== undefined) reports[index] = await deliver(received, deps, { alone: true });
  }
  return reports;
}

export interface DeliverDeps extends ConductDeps, ConcludeDeps {
  /** Milliseconds that a claim lasts: longer than a worker can live, so the holder of an expired claim has crashed. */
  readonly claim_ms: number;
}

/**
 * Delivers one message: claim, send, record, settle. It never rejects: a fault of one notification is in
 * its report, and its message comes back.
 * @param company an attempt that crashed its worker is only made alone
 */
async function deliver(received: ReceivedMessage, deps: DeliverDeps, company: Company): Promise<DeliveryReport> {
  const { log_id, tenant_id, channel, priority, run_id } = received.message;
  const report = { log_id, tenant_id, channel, priority, run_id: runOf(run_id) };
  try {
    return { ...report, ...(await claimAndAttempt(received, deps, company)) };
  } catch (error) {
    // The claim, if there is one, runs out before SQS shows the message again.
    return { ...report, disposition: { do: 'return', after_seconds: Math.ceil(deps.claim_ms / 1000) }, error };
  }
}

/** Seconds until a message that did not fit is visible again: at once, it would only use up its receives. */
const RETURN_AFTER_SECONDS = 30;

async function claimAndAttempt(
  received: ReceivedMessage,
  deps: DeliverDeps,
  company: Company,
): Promise<DeliveryOutcome> {
  if (deps.timeLeft() < TIME_TO_BEGIN_MS) return returnAfter(RETURN_AFTER_SECONDS);
  const early = epochMs(received.message.due) - deps.clock().getTime();
  if (early > 0) return returnAfter(Math.ceil(early / 1000));
  const claimed = await claimRow(received, deps, company);
  if ('disposition' in claimed) return claimed;
  const made = await conductAttempt({ ...claimed, received }, deps);
  return { ...(await concludeAttempt(made, deps)), ...traced(claimed.row) };
}

/** Seconds until a message is visible again whose row others keep changing. */
const CHANGING_SECONDS = 5;

type Claimed = Omit<Attempt<'claimed'>, 'received'>;

/**
 * Claims the row of a message, or says what becomes of the message instead. Most rows are still as their message says, so
 * a plain message claims its row unread. Where that fails, and for every other message, the row as it is decides. Another
 * write may come between the decision and ours: of an event that shows that the notification arrived, of its writer, of
 * another worker. Then the row is read again, and the decision made anew.
 */
async function claimRow(
  received: ReceivedMessage,
  deps: DeliverDeps,
  company: Company,
): Promise<Claimed | DeliveryOutcome> {
  const { message, receive_count } = received;
  const isPlain = message.options === undefined && receive_count === 1;
  const met = isPlain
    ? await claimUnread(message, deps)
    : { claimed: false, row: await deps.rows.read(message.log_id) };
  if (met.claimed && met.row !== undefined) return considerClaimed(met.row, message, deps);
  let { row } = met;
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const step = await considerRow(row, received, deps, company);
    if (step !== 'changed') return 'disposition' in step ? { ...step, ...traced(row) } : step;
    row = await deps.rows.read(message.log_id);
  }
  return returnAfter(CHANGING_SECONDS);
}

async function claimUnread(message: QueueMessage, deps: DeliverDeps): ReturnType<DeliverDeps['rows']['claim']> {
  const by = randomToken(deps.random);
  return deps.rows.claim(message, claimUntil(deps), by).catch(async (error: unknown) => {
    return { claimed: true, row: await claimedBy(by, message.log_id, deps, error) };
  });
}

/** What a row that was claimed unread shows only now: that it may not be sent, or breaks the rules of the table. */
async function considerClaimed(
  row: NotificationRow,
  message: QueueMessage,
  deps: DeliverDeps,
): Promise<Claimed | DeliveryOutcome> {
  const before = countersBefore(row);
  const faults = workFaults(row, before);
  const malformed = faults.length > 0 ? removalOfClaimed(row, before, faults, deps.clock()) : undefined;
  if (malformed !== undefined) {
    const removed = await deps.rows.settle(row, malformed.change);
    return removed ? left(malformed.why) : dropped('the row has changed meanwhile');
  }
  const skip = reasonNotToSend(row, deps.clock(), deps.policy);
  return { row, claim: { ...originOf(message), counted: true, ...(skip && { skip }) } };
}

const BY_A_CLAIM = [
  ['send_attempts', 1],
  ['attempts_left', -1],
  ['last_attempt', 1],
] as const;

/** The counters before the claim, which changed them before anyone saw them. One that no double holds stays as it is. */
function countersBefore(row: NotificationRow) {
  const counters: Partial<Record<(typeof BY_A_CLAIM)[number][0], number>> = {};
  for (const [name, by] of BY_A_CLAIM) if (typeof row[name] === 'number') counters[name] = row[name] - by;
  return counters;
}

/** Claims the row by what it says, or decides what else becomes of its message. `changed`: others were faster. */
async function considerRow(
  row: NotificationRow | undefined,
  received: ReceivedMessage,
  deps: DeliverDeps,
  company: Company,
): Promise<Claimed | DeliveryOutcome | 'changed'> {
  if (row && owesRecord(row)) return repairRecord(row, deps);
  const departure = row && (await leaveIndex(row, workFaults(row), deps));
  if (departure === 'changed') return departure;
  if (departure && 'held_ms' in departure) return returnAfter(meetClaim(received, departure.held_ms).after_seconds);
  if (departure) return left(departure.why);
  const by = randomToken(deps.random);
  const plan = planClaim(row, received, { now: deps.clock(), until: claimUntil(deps), by }, deps.policy);
  if (plan.do === 'drop' || row === undefined) {
    return dropped(plan.do === 'drop' ? plan.because : 'there is no such notification');
  }
  if (plan.do === 'dead_letter') {
    if (plan.change !== undefined && !(await deps.rows.change(row, plan.change))) return 'changed';
    return { disposition: { do: 'dead_letter' } };
  }
  if (plan.do === 'wait') return returnAfter(plan.after_seconds);
  if (plan.do === 'take_over') return takeOver(row, received, deps, company);
  const won = await deps.rows
    .change(row, plan.change)
    .catch(async (error: unknown) => (await claimedBy(by, row.log_id, deps, error)) !== undefined);
  return won ? { row: withChange(row, plan.change), claim: plan } : 'changed';
}

/**
 * A claim may have been applied although its call failed. Then the row has its token, and the attempt need not wait for
 * the end of its own claim (docs/decisions/delivery/workers-that-crash.md#0175).
 * @returns the row as claimed
 * @throws the error of the claim if it was not applied, or if nobody knows
 */
async function claimedBy(by: string, log_id: string, { rows }: DeliverDeps, error: unknown): Promise<NotificationRow> {
  const row = await rows.read(log_id).catch(() => undefined);
  if (row?.send_status === 'SENDING' && row.claim_id === by) return row;
  throw error;
}

const returnAfter = (after_seconds: number): DeliveryOutcome => ({ disposition: { do: 'return', after_seconds } });

function traced(row: NotificationRow | undefined): Pick<DeliveryOutcome, 'trace'> {
  // Before its rules are checked, a row may hold anything in any column.
  const attempt = Number.isSafeInteger(row?.last_attempt) ? Math.max(0, row?.last_attempt ?? 0) : 0;
  const trace = row && traceOf(row, attempt);
  return trace === undefined ? {} : { trace };
}

const left = (why: string): DeliveryOutcome => dropped(`it left the work index: ${why}`);

const dropped = (because: string): DeliveryOutcome => ({ disposition: { do: 'done' }, dropped: because });

const claimUntil = (deps: DeliverDeps): string => new Date(deps.clock().getTime() + deps.claim_ms).toISOString();
