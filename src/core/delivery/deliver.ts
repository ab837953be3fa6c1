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
import { leaveIndex, owesRecord, repairRecord, takeOver, type WorkMode } from './take-over.ts';
import { removalOfClaimed } from './transitions/without-attempt.ts';
import { reasonNotToSend } from './verdict.ts';

/**
 * Delivers a batch: all messages side by side, except those whose last attempt crashed its worker. Those follow one at a
 * time, the latest crash last. So a message that crashes every worker takes others with it once at most.
 * @returns one report per message, in the order of the messages
 */
export async function deliverBatch(batch: readonly ReceivedMessage[], deps: DeliverDeps): Promise<DeliveryReport[]> {
  const reports = await Promise.all(batch.map((received) => deliver(received, deps, { alone: false })));
  const suspects = reports.flatMap(({ disposition }, index) =>
    disposition.do === 'isolate' ? [{ index, until: epochMs(disposition.claim_until) || 0, rank: deps.random() }] : [],
  );
  // Ordered by the end of the claim. A random rank separates claims that end together; a claim whose end is no time,
  // which only another writer leaves, comes first.
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

/** Delivers one message: claim, send, record, settle. Never rejects: a fault is in its report, and it comes back. */
async function deliver(received: ReceivedMessage, deps: DeliverDeps, mode: WorkMode): Promise<DeliveryReport> {
  const { log_id, tenant_id, channel, priority, run_id } = received.message;
  const report = { log_id, tenant_id, channel, priority, run_id: runOf(run_id) };
  try {
    return { ...report, ...(await claimAndAttempt(received, deps, mode)) };
  } catch (error) {
    // The claim, if there is one, runs out before SQS shows the message again.
    return { ...report, disposition: { do: 'return', after_seconds: Math.ceil(deps.claim_ms / 1000) }, error };
  }
}

/** Visibility time-out of a message that the worker has no time left for. With 0, SQS would use up its receives. */
const RETURN_AFTER_SECONDS = 30;

async function claimAndAttempt(received: ReceivedMessage, deps: DeliverDeps, mode: WorkMode): Promise<DeliveryOutcome> {
  if (deps.timeLeft() < TIME_TO_BEGIN_MS) return returnAfter(RETURN_AFTER_SECONDS);
  const early = epochMs(received.message.due) - deps.clock().getTime();
  if (early > 0) return returnAfter(Math.ceil(early / 1000));
  const claimed = await claimRow(received, deps, mode);
  if ('disposition' in claimed) return claimed;
  const made = await conductAttempt({ ...claimed, received }, deps);
  return { ...(await concludeAttempt(made, deps)), ...traced(claimed.row) };
}

/** Visibility time-out of a message whose row others have changed before each of our writes. */
const CHANGING_SECONDS = 5;

type Claimed = Omit<Attempt<'claimed'>, 'received'>;

/**
 * Claims the row of a message, or says what becomes of the message instead. A plain message, received for the first time
 * and without options, claims its row unread: most rows are still as their message says. Where that fails, and for every
 * other message, the row is read and a plan decides. If an event, the row's writer or another worker changes the row
 * between the read and the claim, the row is read again and the plan made anew.
 */
async function claimRow(
  received: ReceivedMessage,
  deps: DeliverDeps,
  mode: WorkMode,
): Promise<Claimed | DeliveryOutcome> {
  const { message, receive_count } = received;
  const isPlain = message.options === undefined && receive_count === 1;
  const met = isPlain
    ? await claimUnread(message, deps)
    : { claimed: false, row: await deps.rows.read(message.log_id) };
  if (met.claimed && met.row !== undefined) return considerClaimed(met.row, message, deps);
  let { row } = met;
  for (let tries = 1; tries <= CHANGE_TRIES; tries++) {
    const step = await considerRow(row, received, deps, mode);
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

/** Checks a row that was claimed unread: it may break the rules of the table, or there may be a reason not to send it. */
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

/** The counters before the claim. One that JavaScript's numbers do not hold exactly is left out. */
function countersBefore(row: NotificationRow) {
  const counters: Partial<Record<(typeof BY_A_CLAIM)[number][0], number>> = {};
  for (const [name, by] of BY_A_CLAIM) if (typeof row[name] === 'number') counters[name] = row[name] - by;
  return counters;
}

/** Claims a row that was read, or says what becomes of its message. `changed`: another write came before ours. */
async function considerRow(
  row: NotificationRow | undefined,
  received: ReceivedMessage,
  deps: DeliverDeps,
  mode: WorkMode,
): Promise<Claimed | DeliveryOutcome | 'changed'> {
  if (row && owesRecord(row)) return repairRecord(row, deps);
  const departure = row && (await leaveIndex(row, workFaults(row), deps));
  if (departure === 'changed') return departure;
  if (departure && 'why' in departure) return left(departure.why);
  if (departure) return returnAfter(meetClaim(received, departure.claim_left_ms).after_seconds);
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
  if (plan.do === 'take_over') return takeOver(row, received, deps, mode);
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
