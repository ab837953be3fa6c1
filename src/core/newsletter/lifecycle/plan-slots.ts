import type { Lease } from '../../model/changes.ts';
import { type Clock, epochMs, isoAfter } from '../../model/time.ts';
import { type Batch, EXCLUDED_BATCH } from '../model/batch.ts';
import type { Email, Slot } from '../model/email.ts';
import type { JobLimits } from '../model/job-limits.ts';
import type { BatchStore, Change } from '../model/ports.ts';
import { type HoldCause, holdAfter, isAside, nextRound, probeAt, waitsUntil } from './holds.ts';

/** Partition of the active index: emails for which something has to be done. */
const ACTIVE = 'active';

/** The change, and when the clock has to look at the email again; undefined: nothing has to be done. */
export function withNextAt(
  set: Change<Email>['set'],
  next_at: string | undefined,
  remove: readonly (keyof Email)[] = [],
): Change<Email> {
  if (next_at === undefined) return { set, remove: [...remove, 'next_at', 'active'] };
  return { set: { ...set, next_at, active: ACTIVE }, remove };
}

/** A slot whose sender has ended, or hangs in a call with its claim `claim_id`. */
export interface DoneSlot {
  readonly slot: string;
  readonly batch_id: string;
  readonly claim_id?: string | undefined;
  /** Of the slot as it was seen: a message that was sent later is for somebody else. */
  readonly since?: string | undefined;
  /** Why no other batch fares better. */
  readonly hold?: HoldCause;
}

export interface SlotsNow {
  /** The batches of the occupied slots. */
  readonly inSlots: ReadonlyMap<string, Batch | undefined>;
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
export function planBatchSlots(email: Email, batches: readonly Batch[], slots: SlotsNow): SlotPlan {
  const { inSlots, done, now, limits } = slots;
  const at = now.toISOString();
  const next: Record<string, Slot> = {};
  const given: Record<string, string> = {};
  const times: string[] = [];
  let stalled = false;
  for (const [slot, taken] of Object.entries(email.slots)) {
    const batch = inSlots.get(slot);
    if (batch === undefined || !isInWork(batch, email, now, limits)) continue;
    const alive = batch.claim_until !== undefined && batch.claim_until > at;
    // A sender that repeats its report, as the answer got lost, does not free the slot of the batch's next sender.
    const isDone =
      done?.slot === slot && done.batch_id === taken.batch_id && (done.since ?? taken.since) === taken.since;
    if (isDone && (!alive || done.claim_id === batch.claim_id)) continue;
    const repeat_at = repeatAt(taken, batch, limits);
    const lost = !alive && repeat_at <= at;
    const given_at = taken.given_at ?? taken.since;
    stalled ||= lost && (repeat_at === batch.claim_until || isoAfter(new Date(given_at), limits.stalled_ms) <= at);
    // Its sender crashed before it freed the slot, which is freed now: other batches come first.
    if (lost && (email.paused || isAside(email, taken.batch_id))) continue;
    if (lost) given[slot] = taken.batch_id;
    next[slot] = lost ? { ...taken, since: at, given_at } : taken;
    // Whoever takes the repeated message may crash, too, which the next look finds, as after the first message.
    times.push(alive ? (batch.claim_until ?? at) : lost ? isoAfter(now, limits.sender_lease_ms) : repeat_at);
  }
  const isCancelled = email.cancelled_at !== undefined;
  const waiting = batches.filter((batch) => isWaiting(batch, next, isCancelled));
  const breaker = holdOf(email, done, now, limits);
  // A cancelled email only closes its batches, which needs no probe.
  const probe_at = isCancelled ? undefined : probeAt({ ...email, ...breaker });
  let pace = isCancelled || email.delivery_deadline === undefined ? undefined : email.next_batch_at;
  let next_batch = email.next_batch ?? 0;
  if (!email.paused) {
    const turn = inTurn(waiting, next, { ...email, ...breaker });
    const due = turn.filter((batch) => dueAt(batch, isCancelled, slots) <= at);
    // Each probe is made by another batch: the recipients of one may be the bad ones.
    if (probe_at !== undefined)
      due.push(...due.splice(0, ((breaker.hold ?? email.hold)?.asked ?? 0) % Math.max(1, due.length)));
    // While the email holds, one batch at a time has a slot. A probe does not wait for its turn in the window.
    const most = probe_at === undefined ? limits.concurrency : Object.keys(next).length > 0 ? 0 : 1;
    for (let i = 0; i < most; i++) {
      const slot = String(i);
      const batch = next[slot] === undefined && (probe_at ?? pace ?? '') <= at ? due.shift() : undefined;
      if (batch === undefined) continue;
      next[slot] = { batch_id: batch.batch_id, since: at, given_at: at };
      given[slot] = batch.batch_id;
      times.push(isoAfter(now, limits.sender_lease_ms));
      next_batch = Math.max(next_batch, Number(batch.batch_id) + 1);
      if (!isCancelled && probe_at === undefined) pace = paceOf(email, waiting.length - i, now) ?? pace;
    }
    const left = turn
      .filter((batch) => !Object.values(given).includes(batch.batch_id))
      .map((batch) => dueAt(batch, isCancelled, slots));
    const earliest = left.sort()[0];
    const free = Object.keys(next).length < most;
    if (free && earliest !== undefined) times.push(latest(earliest, probe_at ?? pace) ?? earliest);
  }
  const set = { slots: next, next_batch, ...breaker, ...(pace !== undefined && { next_batch_at: pace }) };
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

/** The hold that a sender reports at its end, taken once: when it repeats the report, its slot is free. */
function holdOf(
  { slots, hold, refusals }: Email,
  done: DoneSlot | undefined,
  now: Date,
  limits: JobLimits,
): Pick<Email, 'hold' | 'refusals'> {
  if (done?.hold === undefined || slots[done.slot]?.batch_id !== done.batch_id) return {};
  // Events have ended the hold while its sender was about to report it.
  if (done.hold.late && !hold?.late) return {};
  return {
    hold: holdAfter(hold, done.hold, now, limits),
    ...(done.hold.everybody && { refusals: nextRound(refusals) }),
  };
}

/** The batches in order of their turn. Those with nobody left but refused recipients come when all others are done. */
function inTurn(waiting: readonly Batch[], slots: Readonly<Record<string, Slot>>, email: Email): readonly Batch[] {
  const others = waiting.filter(({ batch_id }) => !isAside(email, batch_id));
  return others.length > 0 || Object.keys(slots).length > 0 ? others : waiting;
}

/** A batch keeps its slot until it is done or waits for a time. */
function isInWork(batch: Batch, { cancelled_at }: Email, now: Date, limits: JobLimits): boolean {
  const { status } = batch;
  if (cancelled_at !== undefined) return status !== 'submitted';
  return status === 'submitting' || (status === 'pending' && waitsUntil(batch, now, limits) <= now.toISOString());
}

function isWaiting({ batch_id, status }: Batch, slots: Readonly<Record<string, Slot>>, isCancelled: boolean): boolean {
  const open = status === 'pending' || status === 'submitting' || (isCancelled && status === 'failed');
  return open && batch_id !== EXCLUDED_BATCH && !Object.values(slots).some((slot) => slot.batch_id === batch_id);
}

/** A batch in work without a slot is waited for until its sender must have ended. */
function dueAt(batch: Batch, isCancelled: boolean, { now, limits }: SlotsNow): string {
  const { status, claim_until } = batch;
  if (status === 'submitting') return claim_until ?? '';
  return isCancelled ? '' : waitsUntil(batch, now, limits);
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

export type BatchLease = Lease<Batch, Change<Batch>>;

/** What a sender, or a decision about its recipients, holds a batch by. */
export function batchLease(
  batch: Batch,
  lease_ms: number,
  { batches, clock }: { readonly batches: Pick<BatchStore, 'read' | 'change'>; readonly clock: Clock },
) {
  return { read: () => batches.read(batch.email_id, batch.batch_id), change: batches.change, clock, lease_ms };
}
