import { epochMs, isoAfter } from '../../model/time.ts';
import { type Batch, EXCLUDED_BATCH } from '../model/batch.ts';
import type { Email, Slot } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import { withNextAt } from './lock.ts';

/** A slot whose sender has ended, or hangs in a call with its claim `claim_id`. */
export interface DoneSlot {
  readonly slot: string;
  readonly batch_id: string;
  readonly claim_id?: string | undefined;
  /** The provider gives no allowance before. */
  readonly hold_until?: string;
}

export interface SlotsNow {
  /** The batches of the occupied slots. */
  readonly held: ReadonlyMap<string, Batch | undefined>;
  readonly done?: DoneSlot;
  readonly now: Date;
  readonly limits: JobLimits;
}

export interface SlotPlan {
  readonly change: ReturnType<typeof withNextAt>;
  /** Messages to send: batch by slot. */
  readonly given: Readonly<Record<string, string>>;
  /** No slot is occupied and no batch waits. */
  readonly idle: boolean;
  /** All slots are occupied. */
  readonly full: boolean;
  /** A sender crashed, or an operator has to look because nobody took a message. */
  readonly stalled: boolean;
}

/** Frees slots of batches that are done or wait, repeats lost messages, and gives slots to those whose time came. */
export function planBatchSlots(
  email: Email,
  batches: readonly Batch[],
  { held, done, now, limits }: SlotsNow,
): SlotPlan {
  const at = now.toISOString();
  const next: Record<string, Slot> = {};
  const given: Record<string, string> = {};
  const times: string[] = [];
  let stalled = false;
  for (const [slot, taken] of Object.entries(email.slots)) {
    const batch = held.get(slot);
    if (batch === undefined || !isInWork(batch, at, email)) continue;
    const alive = batch.claim_until !== undefined && batch.claim_until > at;
    // What a sender says again after a lost answer frees no slot of the batch's next sender.
    if (done?.slot === slot && done.batch_id === taken.batch_id && (!alive || done.claim_id === batch.claim_id))
      continue;
    const repeat_at = repeatAt(taken, batch, limits);
    const lost = !alive && repeat_at <= at;
    const given_at = taken.given_at ?? taken.since;
    stalled ||= lost && (repeat_at === batch.claim_until || isoAfter(new Date(given_at), limits.stalled_ms) <= at);
    if (lost && !email.paused) given[slot] = taken.batch_id;
    if (lost && email.paused) continue;
    next[slot] = lost ? { ...taken, since: at, given_at } : taken;
    const look_at = lost ? repeatAt({ ...taken, since: at, given_at }, batch, limits) : repeat_at;
    times.push(alive ? (batch.claim_until ?? at) : look_at);
  }
  const isCancelled = email.cancelled_at !== undefined;
  const waiting = batches.filter((batch) => isWaiting(batch, next, isCancelled));
  // What is only to be closed waits for nothing.
  const hold = isCancelled ? undefined : latest(latest(email.next_batch_at, done?.hold_until), email.silence?.until);
  let next_batch_at = hold;
  let next_batch = email.next_batch ?? 0;
  if (!email.paused) {
    const due = waiting.filter((batch) => dueAt(batch, isCancelled) <= at);
    // While the provider answers nobody, one batch at a time probes it.
    const most =
      isCancelled || email.silence?.until === undefined ? limits.concurrency : Object.keys(next).length > 0 ? 0 : 1;
    for (let i = 0; i < most; i++) {
      const slot = String(i);
      const batch = next[slot] === undefined && (next_batch_at ?? '') <= at ? due.shift() : undefined;
      if (batch === undefined) continue;
      next[slot] = { batch_id: batch.batch_id, since: at, given_at: at };
      given[slot] = batch.batch_id;
      times.push(isoAfter(now, limits.sender_claim_ms));
      next_batch = Math.max(next_batch, Number(batch.batch_id) + 1);
      if (!isCancelled) next_batch_at = paceOf(email, waiting.length - i, now) ?? next_batch_at;
    }
    const left = waiting
      .filter((batch) => !Object.values(given).includes(batch.batch_id))
      .map((batch) => dueAt(batch, isCancelled));
    const earliest = left.sort()[0];
    const free = Object.keys(next).length < most;
    if (free && earliest !== undefined) times.push(latest(earliest, next_batch_at) ?? earliest);
  }
  const set = { slots: next, next_batch, ...(next_batch_at !== undefined && { next_batch_at }) };
  return {
    change: withNextAt(set, times.sort()[0]),
    given,
    idle: Object.keys(next).length === 0 && waiting.length === 0,
    full: Object.keys(next).length >= limits.concurrency,
    stalled,
  };
}

/**
 * When the message of a slot is sent again: at once where a sender has crashed since it was sent; where nobody has taken
 * it, after a minute, and then, as it may wait behind others, as long again as it has waited.
 */
function repeatAt({ since, given_at = since }: Slot, { status, claim_until }: Batch, limits: JobLimits): string {
  if (status === 'submitting' && claim_until !== undefined && claim_until >= since) return claim_until;
  const waited = epochMs(since) - epochMs(given_at);
  return isoAfter(new Date(since), Math.min(limits.message_ms, Math.max(limits.first_message_ms, waited)));
}

/** A batch keeps its slot until it is done or waits for a time. */
function isInWork({ status, not_before }: Batch, at: string, { cancelled_at }: Email): boolean {
  if (cancelled_at !== undefined) return status !== 'submitted';
  return status === 'submitting' || (status === 'pending' && (not_before ?? '') <= at);
}

function isWaiting({ batch_id, status }: Batch, slots: Readonly<Record<string, Slot>>, isCancelled: boolean): boolean {
  const open = status === 'pending' || status === 'submitting' || (isCancelled && status === 'failed');
  return open && batch_id !== EXCLUDED_BATCH && !Object.values(slots).some((slot) => slot.batch_id === batch_id);
}

/** A batch in work without a slot is waited for until its sender must have ended. */
function dueAt({ status, not_before, claim_until }: Batch, isCancelled: boolean): string {
  if (status === 'submitting') return claim_until ?? '';
  return isCancelled ? '' : (not_before ?? '');
}

function latest(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

/**
 * When the batch after this one may begin: the batches that are left are spread over what is left of the delivery window
 * (配信デッドライン). A pause or a late start shortens the steps; after the deadline there are none.
 * @param left batches that are not begun yet, the one that begins now included
 */
function paceOf({ delivery_deadline }: Email, left: number, now: Date): string | undefined {
  if (delivery_deadline === undefined) return undefined;
  const rest = Date.parse(delivery_deadline) - now.getTime();
  return new Date(now.getTime() + (rest <= 0 ? 0 : rest / Math.max(1, left))).toISOString();
}
