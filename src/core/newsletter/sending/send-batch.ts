import { isLeased, Lease } from '../../model/changes.ts';
import { askAt, NOT_ALLOWED, waitsUntil } from '../lifecycle/holds.ts';
import { batchLease } from '../lifecycle/plan-slots.ts';
import type { Batch } from '../model/batch.ts';
import type { SendMessage } from '../model/email-message.ts';
import { storageOf } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import { foreignSenders } from '../model/senders.ts';
import { inTurn, type Stop } from './batch-step.ts';
import {
  acceptFromEvents,
  canGiveWay,
  canPause,
  finishBatch,
  leave,
  passOn,
  pauseUntil,
  type SendReport,
} from './finish-batch.ts';
import { BatchLostError, HeldBatch, isWanted } from './held-batch.ts';
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
  const stopKeeping = held.keepClaim();
  try {
    await held.reload();
    if (held.known.batch.resent) await acceptFromEvents(held);
    for (;;) {
      const halted = await sendPass(held);
      const stop = halted ?? (await finishBatch(held));
      // The wait concerns this batch alone, for single recipients or after one refused call, so another may use the slot.
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
