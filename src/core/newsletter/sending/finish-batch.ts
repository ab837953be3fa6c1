import { LEASE } from '../../model/changes.ts';
import { epochMs } from '../../model/time.ts';
import { acceptUncertain } from '../accounting/chunk-changes.ts';
import { advance } from '../lifecycle/advance.ts';
import { afterRefusals } from '../lifecycle/holds.ts';
import type { DoneSlot } from '../lifecycle/plan-slots.ts';
import { type Batch, placeInBatch, RECIPIENT_STATES, type StateCounts } from '../model/batch.ts';
import { hadFirst, SENT_AGAIN, showsMail } from '../model/batch-events.ts';
import { BULK_EMAIL_SEND_FAILED } from '../model/email.ts';
import { storageOf } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import { givenUp, holdNow, type Stop, stepAtEnd } from './batch-step.ts';
import type { HeldBatch } from './held-batch.ts';
import { changeEmail, failRefused, otherWaits } from './note-answer.ts';
import { countsByReason, holdForTold, noRefused, refusedSince } from './refused-recipients.ts';
import type { SendDeps } from './send-deps.ts';

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

/**
 * Ends the batch as submitted if nothing is left to send, whatever became of single recipients. The batch fails if there
 * are recipients whom only an operator's retry sends to; otherwise the answer says when to go on. The chunks are read
 * again, as others may have changed them.
 */
export async function finishBatch(held: HeldBatch): Promise<Stop | undefined> {
  const { reader, deps } = held;
  const { clock, limits } = deps;
  for (;;) {
    await held.reload();
    await acceptFromEvents(held);
    const step = stepAtEnd(held.known, (chunk) => reader.isUnreadable(chunk), clock(), limits);
    if (step?.kind === 'fail-refused') {
      await failRefused(held);
      continue;
    }
    if (step !== undefined) return step;
    held.note({ refused: noRefused(held.known.refused) });
    const failed = reader.unreadable ?? givenUp(held.known, limits);
    if (failed !== undefined) return failed;
    const done = await held.trySave({
      set: { status: 'submitted', provider_failures: 0 },
      remove: [...LEASE, 'not_before', 'error_status_code', 'error_message', 'error_data'],
    });
    if (done) return undefined;
  }
}

/**
 * Accepts recipients of whom an event shows that the provider took their mail: an uncertain one, or one that is sent to
 * again and whose first mail went out. An event writes its bits and then reads the states; this reads the states and then
 * the bits. So one of the two sees what the other has written.
 */
export async function acceptFromEvents(held: HeldBatch): Promise<void> {
  const { batch, states } = held.known;
  const { email_id, batch_id, resent } = batch;
  const { events } = held.deps;
  const open = states.filter(({ states: codes }) => resent || codes.includes(RECIPIENT_STATES.uncertain));
  if (open.length === 0) return;
  const { bits } = await held.storage('read the events of a batch', () => events.read(email_id, batch_id));
  for (const state of open) {
    const known = acceptUncertain(state, (n) => showsMail({ bits }, placeInBatch(state.chunk, n)));
    const first = (n: number) => hadFirst(bits, placeInBatch(state.chunk, n));
    const next = (resent && acceptUncertain({ ...state, ...known }, first, SENT_AGAIN)) || known;
    await held.write('accept what events show', state, next);
  }
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
  return (
    wait <= limits.longest_pause_ms && remaining_ms() - wait > 2 * (limits.call_timeout_ms + limits.record_reserve_ms)
  );
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
  const remove = LEASE;
  const counts = () => held.known.batch.counts;
  switch (stop.kind) {
    case 'continue':
      await held.save({ set: {}, remove });
      await deps.queues.send({ version: 1, kind: 'batch', email_id, batch_id, slot });
      return { result: 'continued', counts: counts() };
    case 'halt':
      await held.save({ set: { status: 'pending' }, remove });
      await passOn({ slot, batch_id }, email_id, deps);
      return { result: 'halted', counts: counts() };
    case 'wait': {
      const { until, hold } = stop;
      await held.save({ set: { status: 'pending', ...(hold === undefined && { not_before: until }) }, remove });
      await passOn({ slot, batch_id, ...(hold && { hold }) }, email_id, deps);
      return { result: 'waiting', counts: counts(), until };
    }
    case 'aside': {
      const refused = await tellRefused(held);
      if (refused !== undefined) return leave(refused, held);
      await held.save({ set: { status: 'pending' }, remove });
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

/** Frees the slot and gives it to the next batch. The clock does it where this fails. */
export function passOn(done: DoneSlot, email_id: string, deps: SendDeps): Promise<unknown> {
  return storageOf(deps)('free a slot', () => advance(email_id, deps, done));
}

/** Milliseconds until a time; 0 when it has passed. */
const msUntil = (iso: string, now: Date): number => Math.max(0, epochMs(iso) - now.getTime());
