import { isLeased, LEASE, Lease } from '../../model/changes.ts';
import { isoAfter } from '../../model/time.ts';
import { acceptUncertain, placesOf } from '../accounting/chunk-changes.ts';
import { passOn } from '../lifecycle/advance.ts';
import { NOT_ALLOWED, probeAt, waitsUntil } from '../lifecycle/holds.ts';
import { batchLease } from '../lifecycle/plan-slots.ts';
import { type Batch, type ChunkState, placeInBatch, RECIPIENT_STATES } from '../model/batch.ts';
import { SENT_AGAIN, showsMail } from '../model/batch-events.ts';
import type { SendMessage } from '../model/email-message.ts';
import { type JobLimits, pauseAfter, storageOf } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import { foreignSenders } from '../model/senders.ts';
import { hasUsedUpTries, holdNow, inTurn, type Sending, type Stop } from './batch-step.ts';
import { BatchLostError, HeldBatch, isWanted } from './held-batch.ts';
import { canGiveWay, canPause, leave, pauseUntil, type SendReport } from './leave-batch.ts';
import { failRefused } from './note-answer.ts';
import { countsByReason, everybody, isRefused, isTold, noRefused, refusedIn } from './refused-recipients.ts';
import { sendChunk } from './send-chunk.ts';
import type { SendDeps } from './send-deps.ts';

export type BatchMessage = Extract<SendMessage, { kind: 'batch' }>;

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
  const stopKeeping = held.keepLease();
  try {
    await held.reload();
    if (held.known.batch.resent) await acceptFromEvents(held);
    for (;;) {
      const halted = await sendPass(held);
      const stop = halted ?? (await finishBatch(held));
      // Its wait alone: for single recipients, or a call refused after others were answered. Another may use the slot.
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
    // If storage refuses, the reserved mails stay reserved until the day ends.
    await held.endWarming().catch(() => undefined);
  }
}

async function openBatch(message: BatchMessage, deps: SendDeps): Promise<HeldBatch | 'stale' | 'duplicate' | 'halted'> {
  const { email_id, batch_id, slot } = message;
  const { emails, batches, newsletters, clock, limits, newId } = deps;
  const storage = storageOf(deps);
  const read_at = clock();
  const email = await storage('read the email', () => emails.read(email_id));
  const { since } = email?.slots[slot] ?? {};
  if (email?.status !== 'submitting' || email.slots[slot]?.batch_id !== batch_id) return 'stale';
  const batch = await storage('read a batch', () => batches.read(email_id, batch_id));
  const now = clock().toISOString();
  if (batch?.status === 'submitting' && isLeased(batch, clock())) return 'duplicate';
  const isCancelled = email.cancelled_at !== undefined;
  const waits = !isCancelled && batch?.status === 'pending' && waitsUntil(batch, clock(), limits) > now;
  const open = isCancelled ? batch?.status !== 'submitted' : ['pending', 'submitting'].includes(batch?.status ?? '');
  const waitsForProbe = !isCancelled && (probeAt(email) ?? '') > now;
  if (batch === undefined || !open || waits || waitsForProbe || !isWanted(email, slot, batch_id)) {
    await passOn({ slot, batch_id, since }, email_id, deps);
    return 'halted';
  }
  const content = await storage('read the content', () => emails.content(email_id));
  if (content === undefined) throw new Error(`The email ${email_id} has no content.`);
  const foreign = () => foreignSenders(content.newsletter, newsletters);
  if (!isCancelled && (await storage('read senders', foreign)).length > 0) {
    await passOn({ slot, batch_id, since, hold: NOT_ALLOWED }, email_id, deps);
    return 'halted';
  }
  // Its events show when the provider no longer refuses everybody late.
  const watched = email.hold?.late;
  const claim: Change<Batch> = {
    set: { status: 'submitting', claim_id: newId(), ...(watched && { watched }) },
    remove: batch.watched && !watched ? ['not_before', 'watched'] : ['not_before'],
  };
  const port = batchLease(batch, limits.sender_lease_ms, deps);
  const lease = await storage('claim a batch', () => Lease.take(batch, claim, port));
  return lease === undefined ? 'duplicate' : new HeldBatch({ email, read_at, content, lease, slot }, deps);
}

async function sendPass(held: HeldBatch): Promise<Stop | undefined> {
  for (const { email_id, batch_id, chunk, version } of inTurn(held.known.chunks, held.known, 1)) {
    const stop = await sendChunk({ email_id, batch_id, chunk }, held);
    if (stop !== undefined) return stop;
    const changed = held.known.chunks.some((state) => state.chunk === chunk && state.version !== version);
    if (changed) await held.saveInTime();
  }
  return undefined;
}

/**
 * Ends the batch as submitted if nothing is left to send, whatever became of single recipients. The batch fails if there
 * are recipients whom only an operator's retry sends to; otherwise the answer says when to go on. The chunks are read
 * again, as others may have changed them.
 */
async function finishBatch(held: HeldBatch): Promise<Stop | undefined> {
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
async function acceptFromEvents(held: HeldBatch): Promise<void> {
  const { batch, chunks } = held.known;
  const { email_id, batch_id, resent } = batch;
  const { events } = held.deps;
  const open = chunks.filter(({ states: codes }) => resent || codes.includes(RECIPIENT_STATES.uncertain));
  if (open.length === 0) return;
  const { bits } = await held.storage('read the events of a batch', () => events.read(email_id, batch_id));
  for (const state of open) {
    const has = (n: number) => showsMail({ bits }, placeInBatch(state.chunk, n));
    const next = acceptUncertain(state, has, [RECIPIENT_STATES.uncertain, ...(resent ? SENT_AGAIN : [])]);
    await held.write('accept what events show', state, next);
  }
}

/** What the sender does when no chunk has anything left to send now; undefined: the batch can end. */
export function stepAtEnd(
  sending: Sending,
  isUnreadable: (chunk: number) => boolean,
  now: Date,
  limits: JobLimits,
): Stop | { readonly kind: 'fail-refused' } | undefined {
  const readable = sending.chunks.filter(({ chunk }) => !isUnreadable(chunk));
  const [until] = readable.flatMap((state) => timesOf(state, sending, now, limits)).sort();
  if (until !== undefined) return { kind: 'wait', until };
  const { chunks, refused, email } = sending;
  if (!chunks.some((state) => refusedIn(refused, state).size > 0)) return undefined;
  // Whether everybody is refused, other batches have to show first.
  if (!isTold(refused)) return { kind: 'aside' };
  const { for: why, reason = '', message = reason } = email.hold ?? {};
  // No other batch could show it, and the email held for the same reason before.
  const isSame = why === 'refused' && reason in countsByReason(refused);
  return isSame ? holdNow(everybody({ for: why, reason, message }), now) : { kind: 'fail-refused' };
}

/** For the recipients that are not at their end, when each may be sent to. */
function timesOf(state: ChunkState, { batch, refused }: Sending, now: Date, limits: JobLimits): string[] {
  const { states, tries, call } = state;
  return [...states].flatMap((code, n) => {
    if (code === RECIPIENT_STATES.claimed) return [call?.until ?? now.toISOString()];
    if (code !== RECIPIENT_STATES.pending || hasUsedUpTries(state, n, batch, limits)) return [];
    if (isRefused(refused, state.chunk, n)) return [];
    const made = (tries[n] ?? 0) - (batch.tries_before ?? 0);
    return [made <= 0 ? now.toISOString() : isoAfter(now, pauseAfter(made, limits.provider))];
  });
}

/** The batch fails where recipients have used up their tries: only an operator's retry sends to them. */
export function givenUp({ chunks, batch }: Sending, limits: JobLimits): Stop | undefined {
  const reasons = chunks.flatMap((state) =>
    placesOf(state.states, RECIPIENT_STATES.pending)
      .filter((n) => hasUsedUpTries(state, n, batch, limits))
      .map((n) => state.reasons[n] ?? 'refused'),
  );
  const [reason] = reasons;
  if (reason === undefined) return undefined;
  const what = `The provider refused ${reasons.length} of the batch for the time being, in all tries`;
  return { kind: 'fail', refusal: { class: 'transient', reason }, what };
}
