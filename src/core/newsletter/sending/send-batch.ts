import { isLeased, LEASE, Lease } from '../../model/changes.ts';
import { advance } from '../lifecycle/advance.ts';
import { askAt, NOT_ALLOWED, waitsUntil } from '../lifecycle/holds.ts';
import { batchLease } from '../lifecycle/lock.ts';
import type { DoneSlot } from '../lifecycle/plan-slots.ts';
import type { Batch } from '../model/batch.ts';
import { BULK_EMAIL_SEND_FAILED } from '../model/email.ts';
import type { SendMessage } from '../model/email-message.ts';
import { storageOf } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { StateCounts } from '../model/recipient-state.ts';
import { foreignSenders } from '../model/senders.ts';
import { inTurn, type Stop } from './batch-step.ts';
import { BatchLostError, HeldBatch, isWanted } from './held-batch.ts';
import { otherWaits, tellRefused } from './note-answer.ts';
import { acceptFromEvents, finishBatch, msUntil } from './record-outcome.ts';
import { sendChunk } from './send-chunk.ts';
import type { SendDeps } from './send-deps.ts';

/** A shorter pause is not worth three writes. */
const SHORT_PAUSE_MS = 1_000;

export type BatchMessage = Extract<SendMessage, { kind: 'batch' }>;

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
 * Sends one batch in its slot, chunk after chunk (batch-sending-service-job.md, sendBatch). A second message of the same
 * batch does nothing while a sender is alive; after its death the next one goes on where it was.
 * @throws StorageUnavailableError when storage stays down; the clock has the batch sent again
 */
export async function sendBatch(message: BatchMessage, deps: SendDeps): Promise<SendReport> {
  const held = await openBatch(message, deps);
  if (!(held instanceof HeldBatch)) return { result: held };
  const { email_id, batch_id } = message;
  deps.log.info(`Sending batch ${batch_id} for email ${email_id}`, { email_id, batch_id });
  const stopKeeping = held.keepClaim();
  try {
    await held.reload();
    if (held.known.batch.resent) await acceptFromEvents(held);
    for (;;) {
      const halted = await sendPass(held);
      const stop = halted ?? (await finishBatch(held));
      // Others fare better where single recipients are waited for, or where a call was refused among ones that were not.
      const isAlone = stop?.kind === 'wait' && stop.hold === undefined && (!halted || held.known.was_answered);
      const givesWay = isAlone && (await canGiveWay(stop.until, held));
      if (stop?.kind === 'wait' && !givesWay && canPause(stop, held)) {
        await pauseUntil(stop.until, held);
        held.note({ was_answered: false });
        if (await held.isWanted()) continue;
        return await leave({ kind: 'halt' }, held);
      }
      if (stop !== undefined) return await leave(stop, held);
      await passOn({ slot: message.slot, batch_id }, email_id, deps);
      return { result: 'submitted', counts: held.known.batch.counts };
    }
  } catch (error) {
    if (error instanceof BatchLostError) return { result: 'duplicate' };
    throw error;
  } finally {
    stopKeeping();
    // What storage does not take stays reserved for its day.
    await held.endWarming().catch(() => undefined);
  }
}

/** Frees the slot and gives it to the next batch. The clock does it where this fails. */
function passOn(done: DoneSlot, email_id: string, deps: SendDeps): Promise<unknown> {
  return storageOf(deps)('free a slot', () => advance(email_id, deps, done));
}

async function openBatch(message: BatchMessage, deps: SendDeps): Promise<HeldBatch | 'stale' | 'duplicate' | 'halted'> {
  const { email_id, batch_id, slot } = message;
  const { emails, batches, newsletters, clock, limits, newId } = deps;
  const storage = storageOf(deps);
  const read_at = clock();
  const email = await storage('read the email', () => emails.read(email_id));
  if (email?.status !== 'submitting' || email.slots[slot]?.batch_id !== batch_id) return 'stale';
  const batch = await storage('read a batch', () => batches.read(email_id, batch_id));
  const now = clock().toISOString();
  if (batch?.status === 'submitting' && isLeased(batch, clock())) return 'duplicate';
  const isCancelled = email.cancelled_at !== undefined;
  const waits = !isCancelled && batch?.status === 'pending' && waitsUntil(batch, clock(), limits) > now;
  const open = isCancelled ? batch?.status !== 'submitted' : ['pending', 'submitting'].includes(batch?.status ?? '');
  const holds = !isCancelled && (askAt(email) ?? '') > now;
  if (batch === undefined || !open || waits || holds || !isWanted(email, slot, batch_id)) {
    await passOn({ slot, batch_id }, email_id, deps);
    return 'halted';
  }
  const content = await storage('read the content', () => emails.content(email_id));
  if (content === undefined) throw new Error(`The email ${email_id} has no content.`);
  if (
    !isCancelled &&
    (await storage('read senders', () => foreignSenders(content.newsletter, newsletters))).length > 0
  ) {
    await passOn({ slot, batch_id, hold: NOT_ALLOWED }, email_id, deps);
    return 'halted';
  }
  const watched = email.hold?.late;
  const claim: Change<Batch> = {
    set: { status: 'submitting', claim_id: newId(), ...(watched && { watched }) },
    remove: batch.watched && !watched ? ['not_before', 'watched'] : ['not_before'],
  };
  const port = batchLease(batch, limits.sender_claim_ms, deps);
  const lease = await storage('claim a batch', () => Lease.take(batch, claim, port));
  return lease === undefined ? 'duplicate' : new HeldBatch({ email, read_at, content, lease, slot }, deps);
}

async function sendPass(held: HeldBatch): Promise<Stop | undefined> {
  for (const { email_id, batch_id, chunk, version } of inTurn(held.known.states, held.known, 1)) {
    const stop = await sendChunk({ email_id, batch_id, chunk }, held);
    if (stop !== undefined) return stop;
    const changed = held.known.states.some((state) => state.chunk === chunk && state.version !== version);
    if (changed) await held.saveInTime();
  }
  return undefined;
}

/** Whether another batch can use the slot during a pause. */
async function canGiveWay(until: string, held: HeldBatch): Promise<boolean> {
  return msUntil(until, held.deps.clock()) >= SHORT_PAUSE_MS && otherWaits(held);
}

/** Whether the pause is short enough to keep the slot, and the invocation long enough for a call after it. */
function canPause({ until, hold }: Extract<Stop, { kind: 'wait' }>, { deps, known }: HeldBatch): boolean {
  // Another sender asks, at the email's time.
  if (known.email.silence?.until !== undefined || (hold !== undefined && hold.for !== 'rate')) return false;
  const { limits, clock, remaining_ms } = deps;
  const wait = msUntil(until, clock());
  return (
    wait <= limits.longest_pause_ms && remaining_ms() - wait > 2 * (limits.call_timeout_ms + limits.record_reserve_ms)
  );
}

async function pauseUntil(until: string, held: HeldBatch): Promise<void> {
  await held.save();
  await held.deps.pause(msUntil(until, held.deps.clock()));
}

/** Gives the batch back, with what the next sender needs to know. */
async function leave(stop: Stop, held: HeldBatch): Promise<SendReport> {
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
