import type { RetryRecord } from '../model/notification.ts';
import { followUp, MAX_DELAY_MS, type QueueMessage, randomToken, withToken } from '../model/queue-message.ts';
import { type Clock, epochMs, isoAfter } from '../model/time.ts';
import type { Attempt, AttemptOutcome, DeliveryOutcome, Disposition } from './attempt.ts';
import { type Failover, type FailoverDeps, failOver } from './failover.ts';
import { CHANGE_TRIES, type ClaimStore, type RecordStore, type RetryQueue } from './ports.ts';
import { recordOf, recordOnce } from './retry-record.ts';
import { settlementOf, settlementWithPendingRecord } from './transitions/settlements.ts';
import { failedBecause, heldVerdict, judge, type Random, type RetryRules, type Verdict } from './verdict.ts';

export interface SettleDeps extends FailoverDeps {
  readonly rows: ClaimStore;
  readonly retries: RetryQueue;
  readonly random: Random;
}

export interface ConcludeDeps extends SettleDeps, RetryRules {
  readonly records: RecordStore;
  readonly pause: (ms: number) => Promise<void>;
}

/** An outcome that cannot be recorded would be sent again, so recording is tried this often, at growing intervals. */
const RECORD_TRIES = 6;
const RECORD_PAUSE_MS = 100;
/** From this try on, the row of an accepted attempt takes the record if RetryLog does not. */
const OWED_FROM_TRY = 2;

export async function concludeAttempt(conducted: Attempt<'made'>, deps: ConcludeDeps): Promise<DeliveryOutcome> {
  const attempt = judged(conducted, deps);
  const { row, held_by, asked_again_at } = attempt;
  const record = recordOf(attempt);
  const owed = await recordWithRetries(attempt, record, deps);
  const { settled, verdict, ...faults } = owed ?? (await settleAttempt(attempt, deps));
  // Not settled, as another event has changed the row: the message comes back after the claim, and the row as it is then
  // decides.
  const left_ms = epochMs(row.claim_until ?? '') - deps.clock().getTime();
  const lost: Disposition = isShown(attempt, verdict)
    ? { do: 'return', after_seconds: Math.max(1, Math.ceil(left_ms / 1000)) }
    : { do: 'done' };
  return {
    attempt: row.last_attempt,
    verdict,
    record,
    ...(held_by !== undefined && { held_by }),
    ...faults,
    disposition: !settled
      ? lost
      : asked_again_at === undefined
        ? dispositionOf(verdict)
        : postponed(asked_again_at, faults, deps),
    ...(!settled && { dropped: 'the claim was lost before the outcome could be settled' }),
  };
}

/** The message of a forced attempt that was held: done if a copy of it is queued, else it comes back itself. */
function postponed(
  asked_again_at: string,
  { requeue_error }: Pick<Settled, 'requeue_error'>,
  { clock }: Pick<ConcludeDeps, 'clock'>,
): Disposition {
  if (requeue_error === undefined) return { do: 'done' };
  const wait = Math.min(epochMs(asked_again_at) - clock().getTime(), MAX_DELAY_MS);
  return { do: 'return', after_seconds: Math.max(1, Math.ceil(wait / 1000)) };
}

export interface Settled {
  /** False when the claim was lost: nothing was written then. */
  readonly settled: boolean;
  /** The attempt's verdict, or what failing over made of it. */
  readonly verdict: Verdict;
  readonly requeue_error?: unknown;
  readonly record_error?: unknown;
}

/**
 * Settles the row of an attempt that is recorded: fails over where that helps, and queues what comes next. If the row
 * changes between a decision that read it and the write, the decision is made anew.
 * @param by `another`: not the worker that made the attempt, so that the row has to be as it was read
 */
export async function settleAttempt(
  attempt: Attempt<'judged'>,
  deps: SettleDeps,
  by: 'its worker' | 'another' = 'its worker',
): Promise<Settled> {
  for (let tries = 1; ; tries++) {
    const { isOpen, ...settled } = await settleOnce(attempt, deps, { changed: tries > 1, by });
    if (settled.settled || !isOpen || tries === CHANGE_TRIES) return settled;
  }
}

/**
 * The message is queued first, so that no crash leaves a row that waits for a message nobody sent. If the row is not
 * settled then, the message meets another due time, and is dropped (docs/decisions/delivery/claims-and-messages.md#0075).
 */
async function settleOnce(
  attempt: Attempt<'judged'>,
  deps: SettleDeps,
  { changed, by }: { readonly changed: boolean; readonly by: 'its worker' | 'another' },
): Promise<Settled & { readonly isOpen: boolean }> {
  const { row, run_id, asked_again_at } = attempt;
  const asked = attempt.received?.message;
  const final = attempt.verdict.status === 'FAILED' && asked_again_at === undefined;
  const over: Failover = final
    ? await failOver(row, attempt.verdict, run_id, deps, { changed })
    : { verdict: attempt.verdict };
  if (changed && over.current === undefined) return { settled: false, verdict: over.verdict, isOpen: false };
  const { verdict, message: successor, current = row } = over;
  // A held attempt was not made: the next message keeps who asked for it, and its options.
  const kept = attempt.held_by && {
    requested_by: attempt.requested_by,
    ...(asked?.options?.force && { options: asked.options }),
  };
  const retry = verdict.status === 'RETRY' ? followUp(row, verdict.next_retry_at, run_id, kept) : undefined;
  const again = asked_again_at === undefined ? undefined : asked;
  const next = successor ?? retry ?? again;
  const queued = next ? await queueIfNear(next, deps, asked_again_at) : {};
  const change = settlementOf({ ...attempt, verdict }, { queued: !('requeue_error' in queued) });
  const isByRow = over.current !== undefined;
  const settled = await (isByRow || by === 'another' || isShown(attempt, verdict)
    ? deps.rows.change(current, change)
    : deps.rows.settle(row, change));
  // A stop is refused where the row's writer has put in new content since the claim (settledBy): it is decided anew.
  const isOpen = isByRow || (final && verdict.status === 'FAILED' && !verdict.dead_letter);
  return { settled, verdict, isOpen, ...queued };
}

/** The shortest delay of a retry, in seconds. A message that is received before its row is settled is dropped. */
const SETTLED_AFTER_SECONDS = 1;

/**
 * Queues the message if its time is near enough for SQS to delay it. A random token makes its run its own: a worker that
 * takes the attempt over queues the same message again, and neither may be taken for a redrive of the other.
 * @param at when it comes; its `due` unless given
 */
export async function queueIfNear(
  next: QueueMessage,
  { retries, clock, random }: { readonly retries: RetryQueue; readonly clock: Clock; readonly random: () => number },
  at: string = next.due,
): Promise<{ readonly requeue_error?: unknown }> {
  const wait = epochMs(at) - clock().getTime();
  if (wait > MAX_DELAY_MS) return {};
  const message = { ...next, run_id: withToken(next.run_id, randomToken(random)) };
  try {
    await retries.send(message, Math.max(SETTLED_AFTER_SECONDS, Math.ceil(wait / 1000)));
    return {};
  } catch (requeue_error) {
    // The row is in the work index, so the next sweep finds it. Reporting a failure would repeat the claim.
    return { requeue_error };
  }
}

/** Whether the success is known from an event and not from the provider's answer: a later event may revoke it. */
function isShown({ result }: Attempt<'judged'>, { status }: Verdict): boolean {
  return status === 'SUCCESS' && !result?.ok;
}

export function dispositionOf(verdict: Verdict): Disposition {
  return verdict.status === 'FAILED' && verdict.dead_letter ? { do: 'dead_letter' } : { do: 'done' };
}

function judged(
  { row, claim, received, started, ended, outcome: given }: Attempt<'made'>,
  rules: RetryRules,
): Attempt<'judged'> {
  const forced = received.message.options?.force === true;
  const outcome = forced || claim.forced_dead ? heldByStorage(given, ended) : given;
  const first_attempt_at = row.first_attempt_at ?? started.toISOString();
  const judging = { row, first_attempt_at, now: ended, forced_dead: claim.forced_dead ?? false };
  const ending = {
    row,
    first_attempt_at,
    counted: claim.counted,
    trigger: claim.trigger,
    requested_by: claim.requested_by,
    run_id: received.message.run_id,
    received,
    started,
    ended,
  };
  switch (outcome.kind) {
    case 'skipped': {
      const verdict = failedBecause(outcome.reason, row.error_type ?? outcome.reason);
      // Without this, a redriven letter that must not be sent would return to the DLQ at each redrive.
      return { ...ending, verdict: claim.forced_dead ? { ...verdict, dead_letter: false } : verdict };
    }
    case 'arrived':
      return { ...ending, verdict: { status: 'SUCCESS' } };
    case 'held': {
      const { hold } = outcome;
      const held = { ...ending, held_by: hold.by };
      if (!claim.forced_dead) return { ...held, verdict: heldVerdict(hold, { ...judging, forced }, rules.policy) };
      // It stays dead as it was: nothing was sent, and its message asks for the attempt again.
      const verdict = failedBecause(row.failure_reason ?? 'MAX_RETRIES', row.error_type ?? hold.error_type);
      const latest = ended.getTime() + MAX_DELAY_MS;
      return { ...held, verdict, asked_again_at: new Date(Math.min(epochMs(hold.until), latest)).toISOString() };
    }
    case 'sent': {
      const { result, provider_down, paced } = outcome;
      return { ...ending, result, verdict: judge(result, { ...judging, provider_down, paced }, rules) };
    }
  }
}

/** Milliseconds after which a forced attempt is repeated that our own storage has prevented. */
const STORAGE_MS = 60_000;

/**
 * A forced attempt is held, and not used up, where our own storage failed before the provider was called. Its window may
 * be over, so that a retry would be EXPIRED at once.
 */
function heldByStorage(outcome: AttemptOutcome, now: Date): AttemptOutcome {
  if (outcome.kind !== 'sent' || outcome.result.ok) return outcome;
  const { asked, counted, error_type, message } = outcome.result;
  if (asked !== false || counted !== false) return outcome;
  const until = isoAfter(now, STORAGE_MS);
  return { kind: 'held', hold: { do: 'hold', until, error_type, by: { storage: message } } };
}

/**
 * Records the attempt. An accepted one must not be sent again because RetryLog is in trouble: its row is settled then,
 * and keeps the record until a sweep can write it.
 * @returns the settlement if the row keeps the record; undefined once RetryLog has taken it
 * @throws the error of RetryLog when neither of the two took the record: the attempt is taken over once its claim ends
 */
async function recordWithRetries(
  attempt: Attempt<'judged'>,
  record: RetryRecord,
  { records, rows, pause }: ConcludeDeps,
): Promise<Settled | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      await recordOnce(record, records);
      return undefined;
    } catch (record_error) {
      const mayOwe = attempt.result?.ok === true && tries >= OWED_FROM_TRY;
      // A row that refuses, too, is no reason to stop: the next try may find either of the two well.
      const settled =
        mayOwe && (await rows.settle(attempt.row, settlementWithPendingRecord(attempt, record)).catch(() => false));
      if (settled) return { settled, verdict: attempt.verdict, record_error };
      if (tries === RECORD_TRIES) throw record_error;
      await pause(RECORD_PAUSE_MS * 2 ** tries);
    }
  }
}
