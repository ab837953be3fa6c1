import { arrived } from '../model/delivery-by-attempt.ts';
import type { NotificationRow, RetryRecord } from '../model/notification.ts';
import { MAX_DELAY_MS, type QueueMessage, type ReceivedMessage, triggerOf } from '../model/queue-message.ts';
import type { Random } from '../model/random.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { withChange } from '../model/row-change.ts';
import { type Clock, epochMs } from '../model/time.ts';
import { workQueueOf } from '../model/work-index.ts';
import { type ClaimStep, planClaim, reasonNotToSend } from './claim-plan.ts';
import { failOver, type SuccessorStore } from './failover.ts';
import type { ClaimStore, RecordStore, RetryQueue } from './ports.ts';
import type { ProviderGate } from './provider-gate.ts';
import { type SendDeps, send } from './send.ts';
import { type EndedAttempt, recordOf, settlementFromRecord, settlementOf, verdictOf } from './settlement.ts';
import { giveUp, heldVerdict, judge, type Verdict } from './verdict.ts';

/** What becomes of a queue message. */
export type Disposition =
  | { readonly do: 'done' }
  /** Report it as failed, to be visible again at once, until SQS moves it to the DLQ. */
  | { readonly do: 'dead_letter' }
  /** Report it as failed, to be visible again after so many seconds. */
  | { readonly do: 'return'; readonly after_seconds: number }
  /** Nothing was done: an earlier attempt killed its worker, so this one must not share a worker with others. */
  | { readonly do: 'isolate' };

/** What happened to one message; carries no address, body or credential. */
export interface DeliveryReport {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: string;
  readonly priority: string;
  readonly run_id: string;
  readonly disposition: Disposition;
  readonly attempt?: number;
  readonly verdict?: Verdict;
  readonly record?: RetryRecord;
  /** Why nothing was sent. */
  readonly dropped?: string;
  /** The breaker that kept it from being sent. */
  readonly held_by?: string;
  /** The near retry could not be queued; a sweep will find it, later than it could have been. */
  readonly requeue_error?: unknown;
  /** A fault of ours or of the storage; the message comes back. */
  readonly error?: unknown;
}

export interface DeliverDeps extends SendDeps {
  readonly rows: ClaimStore;
  readonly records: RecordStore;
  readonly retries: RetryQueue;
  readonly gate: ProviderGate;
  readonly successors: SuccessorStore;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly random: Random;
  /** Longer than a worker can live: an expired claim's holder is dead. */
  readonly claim_ms: number;
  readonly pause: (ms: number) => Promise<void>;
}

const done: Disposition = { do: 'done' };

/** An outcome that cannot be recorded would be sent again, so recording is tried this often, at growing intervals. */
const RECORD_TRIES = 6;
const RECORD_PAUSE_MS = 100;

/**
 * Delivers one message (design §6): claim, send, record, settle. It never rejects: whatever goes wrong with one
 * notification is in its report, and its message comes back.
 * @param alone whether no other message's attempt shares the worker; what killed one is only tried alone.
 */
export async function deliver(received: ReceivedMessage, deps: DeliverDeps, alone: boolean): Promise<DeliveryReport> {
  const { log_id, tenant_id, channel, priority, run_id } = received.message;
  const report = { log_id, tenant_id, channel, priority, run_id };
  try {
    return { ...report, ...(await attempt(received, deps, alone)) };
  } catch (error) {
    // The claim, if there is one, runs out before SQS shows the message again.
    return { ...report, disposition: { do: 'return', after_seconds: Math.ceil(deps.claim_ms / 1000) }, error };
  }
}

type Outcome = Omit<DeliveryReport, 'log_id' | 'tenant_id' | 'channel' | 'priority' | 'run_id'>;

async function attempt(received: ReceivedMessage, deps: DeliverDeps, alone: boolean): Promise<Outcome> {
  const { message } = received;
  const early = epochMs(message.due) - deps.clock().getTime();
  if (early > 0) {
    return { disposition: { do: 'return', after_seconds: Math.ceil(early / 1000) } };
  }
  const plain = message.options === undefined && received.receive_count === 1;
  if (!plain) return considerRow(await deps.rows.read(message.log_id), received, deps, alone);
  const { claimed, row } = await deps.rows.claim(message, claimUntil(deps));
  if (!claimed || row === undefined) return considerRow(row, received, deps, alone);
  const skip = reasonNotToSend(row, deps.clock(), deps.policy);
  return makeAttempt(row, { trigger: triggerOf(message.run_id), counted: true, ...(skip && { skip }) }, received, deps);
}

/** The way of every message that is not simply claimed: decide on the row as it is. */
async function considerRow(
  row: NotificationRow | undefined,
  received: ReceivedMessage,
  deps: DeliverDeps,
  alone: boolean,
): Promise<Outcome> {
  const plan = planClaim(row, received, { now: deps.clock(), until: claimUntil(deps) }, deps.policy);
  if (plan.do === 'drop' || row === undefined) {
    return { disposition: done, dropped: plan.do === 'drop' ? plan.because : 'there is no such notification' };
  }
  if (plan.do === 'dead_letter') return { disposition: { do: 'dead_letter' } };
  if (plan.do === 'take_over') return takeOver(row, received, deps, alone);
  const won = await deps.rows.change(row, plan.change);
  if (!won) return { disposition: done, dropped: 'another worker was faster' };
  return makeAttempt(withChange(row, plan.change), plan, received, deps);
}

/** An attempt's worker died: what it recorded counts; without a record, the next attempt is due (design §6.2). */
async function takeOver(
  row: NotificationRow,
  received: ReceivedMessage,
  deps: DeliverDeps,
  alone: boolean,
): Promise<Outcome> {
  const record = await deps.records.find(row.log_id, row.last_attempt);
  const now = deps.clock();
  const has_arrived = arrived(row.delivery_by_attempt);
  if (record !== undefined && isOfClaim(record, row, deps)) {
    // What the dead worker found, unless an event has shown since that there is nothing left to do.
    const found: Verdict = has_arrived ? { status: 'SUCCESS' } : verdictOf(record);
    const { verdict, message } = await failOver(row, found, received.message.run_id, deps);
    const settled = await deps.rows.settle(row, settlementFromRecord(row, record, received, now, verdict));
    if (!settled) return { disposition: done, dropped: 'another worker settled it' };
    const next = message ?? nearRetry(received.message, verdict, deps);
    const queued = next && (await queueAt(next, deps));
    return { ...queued, disposition: dispositionOf(verdict), attempt: row.last_attempt, verdict };
  }
  if (!alone) return { disposition: { do: 'isolate' } };
  const died = diedAttempt(row, received, now);
  await deps.records.put(recordOf(died));
  // A dead notification keeps its failure_reason while an operator's forced attempt is made: that was its one.
  if (row.failure_reason !== undefined && !has_arrived) {
    const work_queue = workQueueOf('dead', row.priority, row.log_id);
    await deps.rows.settle(row, { set: { send_status: 'FAILED', work_queue, work_at: now.toISOString() } });
    return { disposition: done, dropped: 'its forced attempt died' };
  }
  const freed = await deps.rows.settle(row, { set: { send_status: 'RETRY' } });
  if (!freed) return { disposition: done, dropped: 'another worker was faster' };
  return considerRow({ ...row, send_status: 'RETRY' }, received, deps, alone);
}

/** A writer that put the row anew began to count its attempts anew: a record from before says nothing of this one. */
function isOfClaim({ retry_at }: RetryRecord, { claim_until }: NotificationRow, { claim_ms }: DeliverDeps): boolean {
  return epochMs(retry_at) >= epochMs(claim_until ?? '') - claim_ms;
}

/** Nobody knows whether the provider took it: the receiver may get a duplicate (invariant 3). */
function diedAttempt(row: NotificationRow, received: ReceivedMessage, now: Date): EndedAttempt {
  const message = 'The worker died before it recorded an outcome; the provider may or may not have taken the message.';
  return {
    row,
    first_attempt_at: row.first_attempt_at ?? now.toISOString(),
    counted: true,
    trigger: triggerOf(received.message.run_id),
    received,
    started: now,
    ended: now,
    result: { ok: false, error_type: 'UNKNOWN', message },
    verdict: { status: 'RETRY', error_type: 'UNKNOWN', next_retry_at: now.toISOString(), counted: true },
  };
}

async function makeAttempt(
  row: NotificationRow,
  step: Pick<ClaimStep, 'trigger' | 'counted' | 'skip' | 'forced_dead'>,
  received: ReceivedMessage,
  deps: DeliverDeps,
): Promise<Outcome> {
  const forced = received.message.options?.force ?? false;
  const has_arrived = arrived(row.delivery_by_attempt);
  const admission = step.skip === undefined && !has_arrived ? await deps.gate.admit(row, forced) : undefined;
  const started = deps.clock();
  const first_attempt_at = row.first_attempt_at ?? started.toISOString();
  const result = admission?.do === 'send' ? await send(row, started, deps) : undefined;
  const ended = deps.clock();
  const provider_down = admission?.do === 'send' && result ? await admission.report(result) : false;
  const attempt = { row, first_attempt_at, now: ended, forced_dead: step.forced_dead ?? false, provider_down };
  const held = admission?.do === 'hold' ? admission : undefined;
  const judged = result
    ? judge(result, attempt, deps.policy, deps.random)
    : has_arrived
      ? ({ status: 'SUCCESS' } as const)
      : held
        ? heldVerdict(held.until, held.error_type, attempt, deps.policy)
        : giveUp(step.skip ?? 'UNKNOWN', row.error_type ?? step.skip ?? 'UNKNOWN');
  const { trigger, counted } = step;
  const ending = {
    row,
    first_attempt_at,
    counted,
    trigger,
    received,
    started,
    ended,
    verdict: judged,
    ...(result && { result }),
    ...(held && { held_by: held.breaker }),
  };
  const record = recordOf(ending);
  await putInsistently(record, deps);
  const { verdict, message } = await failOver(row, judged, received.message.run_id, deps);
  const report = { attempt: row.last_attempt, verdict, record, ...(held && { held_by: held.breaker }) };
  if (!(await deps.rows.settle(row, settlementOf({ ...ending, verdict })))) {
    return { ...report, disposition: done, dropped: 'the claim was lost before the outcome could be settled' };
  }
  const next = message ?? nearRetry(received.message, verdict, deps);
  return { ...report, ...(next && (await queueAt(next, deps))), disposition: dispositionOf(verdict) };
}

async function putInsistently(record: RetryRecord, { records, pause }: DeliverDeps): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await records.put(record);
    } catch (error) {
      if (tries === RECORD_TRIES) throw error;
      await pause(RECORD_PAUSE_MS * 2 ** tries);
    }
  }
}

/** The message for a retry that SQS can delay until its time. */
function nearRetry(message: QueueMessage, verdict: Verdict, { clock }: DeliverDeps): QueueMessage | undefined {
  if (verdict.status !== 'RETRY') return undefined;
  const { options: _, ...plain } = message;
  const wait = epochMs(verdict.next_retry_at) - clock().getTime();
  return wait > MAX_DELAY_MS ? undefined : { ...plain, due: verdict.next_retry_at };
}

async function queueAt(message: QueueMessage, deps: DeliverDeps): Promise<Pick<DeliveryReport, 'requeue_error'>> {
  const wait = epochMs(message.due) - deps.clock().getTime();
  try {
    await deps.retries.send(message, Math.min(MAX_DELAY_MS / 1000, Math.max(0, Math.ceil(wait / 1000))));
    return {};
  } catch (requeue_error) {
    // Not lost: the row is in the work index, and the next sweep finds it. Reporting failure would repeat the claim.
    return { requeue_error };
  }
}

function dispositionOf(verdict: Verdict): Disposition {
  return verdict.status === 'FAILED' && verdict.dead_letter ? { do: 'dead_letter' } : done;
}

function claimUntil(deps: DeliverDeps): string {
  return new Date(deps.clock().getTime() + deps.claim_ms).toISOString();
}
