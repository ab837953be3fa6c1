import type { RetryRecord } from '../model/notification.ts';
import { MAX_DELAY_MS, type QueueMessage } from '../model/queue-message.ts';
import { epochMs } from '../model/time.ts';
import type { RetryRules } from './backoff.ts';
import type { ConductedAttempt } from './conduct-attempt.ts';
import type { DeliveryOutcome, Disposition } from './delivery-report.ts';
import type { EndedAttempt } from './ended-attempt.ts';
import { type FailoverDeps, failOver } from './failover.ts';
import type { ClaimStore, RecordStore, RetryQueue } from './ports.ts';
import { recordOf } from './retry-record.ts';
import { settlementOf } from './settlement.ts';
import { giveUp, heldVerdict, judge, type Verdict } from './verdict.ts';

export interface SettleDeps extends FailoverDeps {
  readonly rows: ClaimStore;
  readonly retries: RetryQueue;
}

export interface ConcludeDeps extends SettleDeps, RetryRules {
  readonly records: RecordStore;
  readonly pause: (ms: number) => Promise<void>;
}

/** An outcome that cannot be recorded would be sent again, so recording is tried this often, at growing intervals. */
const RECORD_TRIES = 6;
const RECORD_PAUSE_MS = 100;

/** Judges and records an attempt, then settles its row. */
export async function concludeAttempt(conducted: ConductedAttempt, deps: ConcludeDeps): Promise<DeliveryOutcome> {
  const attempt = judged(conducted, deps);
  const { row, held_by } = attempt;
  const record = recordOf(attempt);
  await putInsistently(record, deps);
  const { settled, verdict, ...requeued } = await settleAttempt(attempt, conducted.received.message, deps);
  return {
    attempt: row.last_attempt,
    verdict,
    record,
    ...(held_by !== undefined && { held_by }),
    ...requeued,
    disposition: settled ? dispositionOf(verdict) : { do: 'done' },
    ...(!settled && { dropped: 'the claim was lost before the outcome could be settled' }),
  };
}

export interface Settled {
  /** False when the claim was lost: nothing was written then. */
  readonly settled: boolean;
  /** The attempt's verdict, or what failing over made of it. */
  readonly verdict: Verdict;
  readonly requeue_error?: unknown;
}

/** Settles the row of an attempt that is recorded: fails over where that helps, and queues what comes next. */
export async function settleAttempt(attempt: EndedAttempt, message: QueueMessage, deps: SettleDeps): Promise<Settled> {
  const { row, run_id } = attempt;
  const { verdict, message: successor } = await failOver(row, attempt.verdict, run_id, deps);
  if (!(await deps.rows.settle(row, settlementOf({ ...attempt, verdict })))) return { settled: false, verdict };
  const next = successor ?? nearRetry(message, verdict, deps);
  return { settled: true, verdict, ...(next && (await queueAt(next, deps))) };
}

export function dispositionOf(verdict: Verdict): Disposition {
  return verdict.status === 'FAILED' && verdict.dead_letter ? { do: 'dead_letter' } : { do: 'done' };
}

function judged({ row, claim, received, started, ended, outcome }: ConductedAttempt, rules: RetryRules): EndedAttempt {
  const first_attempt_at = row.first_attempt_at ?? started.toISOString();
  const attempt = { row, first_attempt_at, now: ended, forced_dead: claim.forced_dead ?? false };
  const ending = {
    row,
    first_attempt_at,
    counted: claim.counted,
    trigger: claim.trigger,
    run_id: received.message.run_id,
    message_id: received.message_id,
    started,
    ended,
  };
  switch (outcome.kind) {
    case 'skipped': {
      const verdict = giveUp(outcome.reason, row.error_type ?? outcome.reason);
      // A dead letter that an operator sent back and that must not be sent would come back to the DLQ for ever.
      return { ...ending, verdict: claim.forced_dead ? { ...verdict, dead_letter: false } : verdict };
    }
    case 'arrived':
      return { ...ending, verdict: { status: 'SUCCESS' } };
    case 'held':
      return { ...ending, held_by: outcome.hold.by, verdict: heldVerdict(outcome.hold, attempt, rules.policy) };
    case 'sent': {
      const { result, provider_down } = outcome;
      return { ...ending, result, verdict: judge(result, { ...attempt, provider_down }, rules) };
    }
  }
}

async function putInsistently(record: RetryRecord, { records, pause }: ConcludeDeps): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await records.put(record);
    } catch (error) {
      if (tries === RECORD_TRIES) throw error;
      await pause(RECORD_PAUSE_MS * 2 ** tries);
    }
  }
}

/** The message for a retry that is near enough for SQS to delay it. */
function nearRetry(message: QueueMessage, verdict: Verdict, { clock }: SettleDeps): QueueMessage | undefined {
  if (verdict.status !== 'RETRY') return undefined;
  const { options: _, ...plain } = message;
  const wait = epochMs(verdict.next_retry_at) - clock().getTime();
  return wait > MAX_DELAY_MS ? undefined : { ...plain, due: verdict.next_retry_at };
}

async function queueAt(message: QueueMessage, { retries, clock }: SettleDeps): Promise<{ requeue_error?: unknown }> {
  const wait = epochMs(message.due) - clock().getTime();
  try {
    await retries.send(message, Math.min(MAX_DELAY_MS / 1000, Math.max(0, Math.ceil(wait / 1000))));
    return {};
  } catch (requeue_error) {
    // The row is in the work index, so the next sweep finds it. Reporting a failure would repeat the claim.
    return { requeue_error };
  }
}
