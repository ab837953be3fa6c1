import { changeUntil } from '../../model/changes/change-until.ts';
import { isoAfter } from '../../model/time.ts';
import { advance } from '../lifecycle/advance.ts';
import { askAt, isAside, NO_REFUSALS, nextRound, waitsUntil } from '../lifecycle/holds.ts';
import { type Batch, batchId } from '../model/batch.ts';
import type { Email } from '../model/email.ts';
import { pauseAfter } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { BulkAnswer, EntryAnswer } from '../model/provider.ts';
import type { BatchWork } from './batch-work.ts';
import type { Stop } from './send-deps.ts';

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
export async function noteAnswer(answer: BulkAnswer, work: BatchWork): Promise<Stop | undefined> {
  if (answer.kind === 'refused') return undefined;
  if (answer.kind === 'answered') {
    await noteAnswered(answer.entries, work);
    return undefined;
  }
  work.unanswered += 1;
  const { clock, limits, log } = work.deps;
  await changeEmail(work, ({ silence: known }) => {
    const calls = Math.max(work.unanswered, known?.calls ?? 0);
    if (calls < SIGN) return { set: { silence: { calls } } };
    const probes = work.asks ? (known?.probes ?? 0) + 1 : 0;
    const pause = Math.min(limits.longest_hold_ms, pauseAfter(probes + 1, limits.provider));
    return { set: { silence: { calls, probes, until: isoAfter(clock(), pause) } } };
  });
  const { email_id, silence } = work.email;
  if (silence?.until === undefined) return undefined;
  log.warn(`The provider answers no call for email ${email_id}: it holds`, { email_id, ...silence });
  return { kind: 'halt' };
}

async function noteAnswered(answers: readonly EntryAnswer[], work: BatchWork): Promise<void> {
  work.unanswered = 0;
  const isAccepted = answers.some(({ accepted }) => accepted);
  const news = ({ silence, hold, refusals }: Email) => {
    const refused = Object.keys(refusals?.batches ?? {}).length > 0;
    return {
      answered: silence !== undefined,
      // What events told of only events end.
      free: isAccepted && hold !== undefined && !hold.late,
      single: isAccepted && (refused || (hold?.late === true && !work.refused.isEmpty)),
    };
  };
  const { answered, free, single } = news(work.email);
  if (!answered && !free && !single) return;
  await changeEmail(work, (email) => {
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
  work.asks = askAt(work.email) !== undefined;
  // The other slots are free, if the email held.
  await work.storage('give the free slots', () => advance(work.email.email_id, work.deps));
}

/**
 * Gives the slot of a sender whose call hangs to another batch, which knows of that call: if its own is not answered
 * either, the email holds. A sender does it once, none does that stands in for another, and no more calls hang at once
 * than there are slots.
 */
async function giveSlotAway(work: BatchWork): Promise<void> {
  if (work.gave_slot_away || work.email.silence !== undefined) return;
  const { email_id, batch_id, claim_id } = work.batch;
  if (!(await otherWaits(work))) return;
  const { clock, limits } = work.deps;
  const over = isoAfter(clock(), -limits.call_timeout_ms);
  const now = clock().toISOString();
  const given = await changeEmail(work, ({ silence, hung_at = [] }) => {
    const hanging = hung_at.filter((at) => at > over);
    if (hanging.length >= limits.concurrency) return undefined;
    return { set: { silence: silence ?? { calls: 1 }, hung_at: [...hanging, now] } };
  });
  if (!given) return;
  work.gave_slot_away = true;
  await work.storage('give a slot away', () => advance(email_id, work.deps, { slot: work.slot, batch_id, claim_id }));
}

/** Whether another batch can use the slot (docs/decisions/newsletters/job.md). */
export async function otherWaits(work: BatchWork): Promise<boolean> {
  const { batches, clock, limits } = work.deps;
  const { email_id, batch_id } = work.batch;
  const later = await work.storage('look for a batch that waits', () =>
    batches.from(email_id, batchId(Number(batch_id) + 1), LOOK_AHEAD),
  );
  const now = clock();
  const isDue = (batch: Batch) => waitsUntil(batch, now, limits) <= now.toISOString();
  return later.some((batch) => batch.status === 'pending' && !isAside(work.email, batch.batch_id) && isDue(batch));
}

/** Others change the row, too. @returns whether it was changed */
export async function changeEmail(
  work: BatchWork,
  next: (email: Email) => Change<Email> | undefined,
): Promise<boolean> {
  const { emails } = work.deps;
  const { row, changed } = await changeUntil(
    () => work.storage('read the email', () => emails.read(work.email.email_id)),
    next,
    (was, change) => work.storage('note whether calls are answered', () => emails.change(was, change)),
    { from: work.email },
  );
  work.email = changed ?? row ?? work.email;
  return changed !== undefined;
}

/** A call that hangs keeps nobody else waiting: its slot is given away, and the sender waits without one. */
export async function whileSlotServes(call: Promise<BulkAnswer>, work: BatchWork): Promise<BulkAnswer> {
  let giving: Promise<void> | undefined;
  const stop = work.deps.repeat(work.deps.limits.hang_ms, () => {
    giving ??= giveSlotAway(work).catch(() => undefined);
    return giving;
  });
  try {
    return await call;
  } finally {
    stop();
    await giving;
  }
}
