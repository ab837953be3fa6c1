import { changeUntil } from '../../model/changes.ts';
import { isoAfter } from '../../model/time.ts';
import { changeState, failPending } from '../accounting/chunk-changes.ts';
import { advance } from '../lifecycle/advance.ts';
import { askAt, isAside, NO_REFUSALS, nextRound, waitsUntil } from '../lifecycle/holds.ts';
import { type Batch, batchId } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import { pauseAfter } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { BulkAnswer, EntryAnswer } from '../model/provider.ts';
import { holdNow, type Stop } from './batch-step.ts';
import type { HeldBatch } from './held-batch.ts';
import { isAccepted, type Judgement } from './judge-answer.ts';
import {
  areAll,
  countsByReason,
  holdForAll,
  holdForTold,
  noRefused,
  refusedIn,
  refusedSince,
  withRefused,
} from './refused-recipients.ts';

/** Calls of a slot without an answer, in a row: one is an accident, two are a sign. */
const SIGN = 2;
/** Later batches that are looked at for one that waits. */
const LOOK_AHEAD = 10;

/**
 * What is noted on the email while the provider answers no call, so that not the whole audience becomes uncertain call by
 * call: from the second one on the email holds, and one sender at a time makes a call for one recipient, at growing
 * intervals, until one is answered. A refusal says nothing: nobody became uncertain by it. The first mail that is
 * accepted ends every hold.
 * @returns why the sender ends
 */
export async function noteAnswer(answer: BulkAnswer, held: HeldBatch): Promise<Stop | undefined> {
  if (answer.kind === 'refused') return undefined;
  if (answer.kind === 'answered') {
    await noteAnswered(answer.entries, held);
    return undefined;
  }
  const unanswered = held.known.unanswered + 1;
  held.note({ unanswered });
  const { clock, limits, log } = held.deps;
  await changeEmail(held, ({ silence: known }) => {
    const calls = Math.max(unanswered, known?.calls ?? 0);
    if (calls < SIGN) return { set: { silence: { calls } } };
    const probes = held.known.asks ? (known?.probes ?? 0) + 1 : 0;
    const pause = Math.min(limits.longest_hold_ms, pauseAfter(probes + 1, limits.provider));
    return { set: { silence: { calls, probes, until: isoAfter(clock(), pause) } } };
  });
  const { email_id, silence } = held.known.email;
  if (silence?.until === undefined) return undefined;
  log.warn(`The provider answers no call for email ${email_id}: it holds`, { email_id, ...silence });
  return { kind: 'halt' };
}

async function noteAnswered(answers: readonly EntryAnswer[], held: HeldBatch): Promise<void> {
  held.note({ unanswered: 0, was_answered: true });
  const isAccepted = answers.some(({ accepted }) => accepted);
  const news = ({ silence, hold, refusals }: Email) => {
    const refused = Object.keys(refusals?.batches ?? {}).length > 0;
    return {
      answered: silence !== undefined,
      // What events told of only events end.
      free: isAccepted && hold !== undefined && !hold.late,
      single: isAccepted && (refused || (hold?.late === true && held.known.refused.places.size > 0)),
    };
  };
  const { answered, free, single } = news(held.known.email);
  if (!answered && !free && !single) return;
  await changeEmail(held, (email) => {
    const { refusals = NO_REFUSALS } = email;
    const found = news(email);
    if (!found.answered && !found.free && !found.single) return undefined;
    // Who was refused while everybody was, however it was said, is no exception because the provider accepts again.
    const wasAll = (found.free || found.single) && ['refused', 'sender'].includes(email.hold?.for ?? '');
    const next = wasAll ? nextRound(refusals) : { ...refusals, batches: {} };
    return {
      set: wasAll || found.single ? { refusals: next } : {},
      remove: [...(found.answered ? (['silence'] as const) : []), ...(found.free ? (['hold'] as const) : [])],
    };
  });
  const { email } = held.known;
  held.note({ asks: askAt(email) !== undefined });
  // The other slots are free, if the email held.
  await held.storage('give the free slots', () => advance(email.email_id, held.deps));
}

/** An acceptance ends those who were refused before it; enough refusals with none between make the email hold. */
export async function noteRefused(chunk: number, judgement: Judgement, held: HeldBatch): Promise<Stop | undefined> {
  const { refused } = judgement;
  if (isAccepted(judgement)) await failRefused(held);
  if (refused.length === 0) return undefined;
  const before = refusedSince(held.known.email, held.known.refused);
  held.note({ refused: withRefused(before, chunk, refused) });
  const hold = holdForAll(refused, held.known, held.deps.limits);
  return hold && holdNow(hold, held.deps.clock());
}

/**
 * Ends those who were refused for themselves. The email is read before: it may hold meanwhile because others found that
 * everybody is refused, and then they are tried again.
 */
export async function failRefused(held: HeldBatch): Promise<void> {
  const { deps, known } = held;
  if (known.refused.places.size === 0) return;
  const email = await held.storage('read the email', () => deps.emails.read(known.email.email_id));
  if (email === undefined) return;
  const refused = refusedSince(email, known.refused);
  held.note({ email, refused: noRefused(refused) });
  if (areAll(refused, deps.limits)) return;
  for (const state of known.states) {
    const reasons = refusedIn(refused, state);
    if (reasons.size === 0) continue;
    const failed = await held.storage('end recipients that were refused for themselves', () =>
      changeState(state, (now) => failPending(now, reasons), deps),
    );
    held.keep(failed);
  }
}

/**
 * Counts on the email who was refused in the batch, before the batch waits for others. The counts are absolute, so that
 * telling them twice is harmless. @returns a hold, if it is everybody with those of others
 */
export async function tellRefused(held: HeldBatch): Promise<Stop | undefined> {
  const { batch_id } = held.known.batch;
  await changeEmail(held, (email) => {
    const refused = refusedSince(email, held.known.refused);
    held.note({ refused });
    if (refused.places.size === 0) return undefined;
    const { round, batches } = email.refusals ?? NO_REFUSALS;
    return { set: { refusals: { round, batches: { ...batches, [batch_id]: countsByReason(refused) } } } };
  });
  const hold = holdForTold(held.known, held.deps.limits);
  if (hold !== undefined) return holdNow(hold, held.deps.clock());
  const { refused } = held.known;
  held.note({ refused: { ...refused, told: refused.turn } });
  return undefined;
}

/**
 * Gives the slot of a sender whose call hangs to another batch, which knows of that call: if its own is not answered
 * either, the email holds. A sender does it once, none does that stands in for another, and no more calls hang at once
 * than there are slots.
 */
async function giveSlotAway(held: HeldBatch): Promise<void> {
  const { gave_slot_away, email, batch, slot } = held.known;
  if (gave_slot_away || email.silence !== undefined) return;
  const { email_id, batch_id, claim_id } = batch;
  if (!(await otherWaits(held))) return;
  const { clock, limits } = held.deps;
  const over = isoAfter(clock(), -limits.call_timeout_ms);
  const now = clock().toISOString();
  const given = await changeEmail(held, ({ silence, hung_at = [] }) => {
    const hanging = hung_at.filter((at) => at > over);
    if (hanging.length >= limits.concurrency) return undefined;
    return { set: { silence: silence ?? { calls: 1 }, hung_at: [...hanging, now] } };
  });
  if (!given) return;
  held.note({ gave_slot_away: true });
  await held.storage('give a slot away', () => advance(email_id, held.deps, { slot, batch_id, claim_id }));
}

/** Whether another batch can use the slot (docs/decisions/newsletters/job.md). */
export async function otherWaits(held: HeldBatch): Promise<boolean> {
  const { batches, clock, limits } = held.deps;
  const { email_id, batch_id } = held.known.batch;
  const later = await held.storage('look for a batch that waits', () =>
    batches.from(email_id, batchId(Number(batch_id) + 1), LOOK_AHEAD),
  );
  const now = clock();
  const isDue = (batch: Batch) => waitsUntil(batch, now, limits) <= now.toISOString();
  const { email } = held.known;
  return later.some((batch) => batch.status === 'pending' && !isAside(email, batch.batch_id) && isDue(batch));
}

/** Others change the row, too. @returns whether it was changed */
async function changeEmail(held: HeldBatch, next: (email: Email) => Change<Email> | undefined): Promise<boolean> {
  const { emails } = held.deps;
  const { email } = held.known;
  const { row, changed } = await changeUntil(
    () => held.storage('read the email', () => emails.read(email.email_id)),
    next,
    (was, change) => held.storage('note whether calls are answered', () => emails.change(was, change)),
    { from: email },
  );
  held.note({ email: changed ?? row ?? held.known.email });
  return changed !== undefined;
}

/** A call that hangs keeps nobody else waiting: its slot is given away, and the sender waits without one. */
export async function whileSlotServes(call: Promise<BulkAnswer>, held: HeldBatch): Promise<BulkAnswer> {
  let giving: Promise<void> | undefined;
  const stop = held.deps.repeat(held.deps.limits.hang_ms, () => {
    giving ??= giveSlotAway(held).catch(() => undefined);
    return giving;
  });
  try {
    return await call;
  } finally {
    stop();
    await giving;
  }
}
