import { LEASE } from '../../model/changes.ts';
import { epochMs } from '../../model/time.ts';
import { advance, passOn } from '../lifecycle/advance.ts';
import { afterHang, afterRefusals, isAside, waitsUntil } from '../lifecycle/holds.ts';
import { type Batch, batchId, type StateCounts } from '../model/batch.ts';
import { BULK_EMAIL_SEND_FAILED } from '../model/email.ts';
import type { Change } from '../model/ports.ts';
import { holdNow, type Stop } from './batch-step.ts';
import type { HeldBatch } from './held-batch.ts';
import { changeEmail } from './note-answer.ts';
import { countsByReason, holdForTold, refusedSince } from './refused-recipients.ts';

export interface SendReport {
  readonly result:
    | 'submitted'
    | 'failed'
    | 'waiting'
    | 'continued'
    | 'halted'
    /** The message is old: its slot, batch or email has moved on. */
    | 'stale'
    /** Another sender is at work on the batch. */
    | 'duplicate';
  /** Counts of the batch as it was left. */
  readonly counts?: StateCounts;
  /** Until when a wait lasts. */
  readonly until?: string;
}

/** A shorter pause, in milliseconds, is not worth the three writes of giving the slot to another batch. */
const SHORT_PAUSE_MS = 1_000;

/** Whether another batch can use the slot during a pause. */
export async function canGiveWay(until: string, held: HeldBatch): Promise<boolean> {
  return msUntil(until, held.deps.clock()) >= SHORT_PAUSE_MS && otherWaits(held);
}

/** Whether the pause is short enough to keep the slot, and the invocation long enough for a call after it. */
export function canPause({ until, hold }: Extract<Stop, { kind: 'wait' }>, { deps, known }: HeldBatch): boolean {
  // The email holds: another sender makes the probe, when it is due.
  if (known.email.silence?.until !== undefined || (hold !== undefined && hold.for !== 'rate')) return false;
  const { limits, clock, remaining_ms } = deps;
  const wait = msUntil(until, clock());
  const needed_ms = 2 * (limits.call_timeout_ms + limits.record_reserve_ms);
  return wait <= limits.longest_pause_ms && remaining_ms() - wait > needed_ms;
}

export async function pauseUntil(until: string, held: HeldBatch): Promise<void> {
  await held.save();
  await held.deps.pause(msUntil(until, held.deps.clock()));
}

/** Saves what the next sender needs to know, releases the batch and its slot, and reports why. */
export async function leave(stop: Stop, held: HeldBatch): Promise<SendReport> {
  const { deps, known } = held;
  const { slot } = known;
  const { email_id, batch_id } = known.batch;
  const counts = () => held.known.batch.counts;
  switch (stop.kind) {
    case 'continue':
      await held.save({ set: {}, remove: LEASE });
      await deps.queues.send({ version: 1, kind: 'batch', email_id, batch_id, slot });
      return { result: 'continued', counts: counts() };
    case 'halt':
      await held.save({ set: { status: 'pending' }, remove: LEASE });
      await passOn({ slot, batch_id }, email_id, deps);
      return { result: 'halted', counts: counts() };
    case 'wait': {
      const { until, hold } = stop;
      await held.save({ set: { status: 'pending', ...(hold === undefined && { not_before: until }) }, remove: LEASE });
      await passOn({ slot, batch_id, ...(hold && { hold }) }, email_id, deps);
      return { result: 'waiting', counts: counts(), until };
    }
    case 'aside': {
      const refused = await tellRefused(held);
      if (refused !== undefined) return leave(refused, held);
      await held.save({ set: { status: 'pending' }, remove: LEASE });
      await passOn({ slot, batch_id }, email_id, deps);
      return { result: 'waiting', counts: counts() };
    }
    case 'fail': {
      const { message: said, ...why } = stop.refusal;
      await held.save(failed(stop));
      deps.log.error(`${BULK_EMAIL_SEND_FAILED}: batch ${batch_id} for email ${email_id}`, {
        email_id,
        batch_id,
        ...why,
        // `message` is the log's own field, and would be dropped.
        said,
      });
      await passOn({ slot, batch_id }, email_id, deps);
      return { result: 'failed', counts: counts() };
    }
  }
}

function failed({ refusal, what = 'The provider refused the batch' }: Extract<Stop, { kind: 'fail' }>): Change<Batch> {
  const { reason, message = reason, status_code } = refusal;
  return {
    set: {
      status: 'failed',
      error_message: `${what}: ${message}${/[.!?]$/.test(message) ? '' : '.'}`,
      error_data: JSON.stringify({ code: BULK_EMAIL_SEND_FAILED, reason }),
      ...(status_code !== undefined && { error_status_code: status_code }),
    },
    remove: [...LEASE, 'not_before'],
  };
}

/** Adds the batch's refusals to the email before the batch waits. @returns a hold, if those of all batches make one */
async function tellRefused(held: HeldBatch): Promise<Stop | undefined> {
  const { batch_id } = held.known.batch;
  await changeEmail(held, (email) => {
    const refused = refusedSince(email, held.known.refused);
    return refused.places.size === 0 ? undefined : afterRefusals(email, batch_id, countsByReason(refused));
  });
  held.note({ refused: refusedSince(held.known.email, held.known.refused) });
  const hold = holdForTold(held.known, held.deps.limits);
  if (hold !== undefined) return holdNow(hold, held.deps.clock());
  const { refused } = held.known;
  held.note({ refused: { ...refused, told: refused.turn } });
  return undefined;
}

/** Later batches that are looked at for one that waits. */
const LOOK_AHEAD = 10;

/**
 * Gives the slot of a sender whose call hangs to another batch. The email counts the call as one without an answer: one
 * more makes it hold. A sender gives its slot away once, and not while the email already counts such a call; no more
 * calls hang at once than there are slots.
 */
export async function giveSlotAway(held: HeldBatch): Promise<void> {
  const { gave_slot_away, email, batch, slot } = held.known;
  if (gave_slot_away || email.silence !== undefined) return;
  const { email_id, batch_id, claim_id } = batch;
  if (!(await otherWaits(held))) return;
  const { clock, limits } = held.deps;
  const now = clock();
  const given = await changeEmail(held, (found) => afterHang(found, now, limits));
  if (!given) return;
  held.note({ gave_slot_away: true });
  await held.storage('give a slot away', () => advance(email_id, held.deps, { slot, batch_id, claim_id }));
}

/** Whether another batch can use the slot (docs/decisions/newsletters/job.md). */
async function otherWaits(held: HeldBatch): Promise<boolean> {
  const { batches, clock, limits } = held.deps;
  const { email_id, batch_id } = held.known.batch;
  const later = await held.storage('look for a batch that waits', () =>
    batches.from(email_id, batchId(Number(batch_id) + 1), LOOK_AHEAD),
  );
  const now = clock();
  const isDue = (batch: Batch) => waitsUntil(batch, now, limits) <= now.toISOString();
  const isOpen = ({ status, batch_id: id }: Batch) => status === 'pending' && !isAside(held.known.email, id);
  return later.some((batch) => isOpen(batch) && isDue(batch));
}

/** Milliseconds until a time; 0 when it has passed. */
const msUntil = (iso: string, now: Date): number => Math.max(0, epochMs(iso) - now.getTime());
