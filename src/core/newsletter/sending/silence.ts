import { isoAfter } from '../../model/time.ts';
import { advance } from '../lifecycle/advance.ts';
import { batchId } from '../model/batch.ts';
import type { Email, Silence } from '../model/email.ts';
import { pauseAfter } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { BulkAnswer } from '../model/provider.ts';
import type { BatchWork } from './batch-work.ts';
import type { Stop } from './stop.ts';

/** Calls of a slot without an answer, in a row: one is an accident, two are a sign. */
const SIGN = 2;
/** Later batches that are looked at for one that waits. */
const LOOK_AHEAD = 10;

/**
 * What is noted on the email while the provider answers no call, so that not the whole audience becomes uncertain call by
 * call: from the second one on the email holds, and one sender at a time makes a call for one recipient, at growing
 * intervals, until one is answered. A refusal says nothing: nobody became uncertain by it.
 * @returns why the sender ends
 */
export async function noteAnswer({ kind }: BulkAnswer, work: BatchWork): Promise<Stop | undefined> {
  if (kind === 'refused') return undefined;
  if (kind === 'answered') {
    work.unanswered = 0;
    if (work.email.silence === undefined) return undefined;
    work.probes = false;
    await changeSilence(work, () => undefined);
    // The other slots are free, if the email held.
    await work.storage('give the free slots', () => advance(work.email.email_id, work.deps));
    return undefined;
  }
  work.unanswered += 1;
  const { clock, limits, log } = work.deps;
  await changeSilence(work, (known) => {
    const calls = Math.max(work.unanswered, known?.calls ?? 0);
    if (calls < SIGN) return { calls };
    const probes = work.probes ? (known?.probes ?? 0) + 1 : 0;
    return { calls, probes, until: isoAfter(clock(), pauseAfter(probes + 1, limits.provider)) };
  });
  const { email_id, silence } = work.email;
  if (silence?.until === undefined) return undefined;
  log.warn(`The provider answers no call for email ${email_id}: it holds`, { email_id, ...silence });
  return { kind: 'wait', until: silence.until, everyone: true };
}

/**
 * Gives the slot of a sender whose call hangs to another batch, which knows of that call: if its own is not answered
 * either, the email holds. A sender does it once, none does that stands in for another, and no more calls hang at once
 * than there are slots.
 */
export async function giveSlotAway(work: BatchWork): Promise<void> {
  if (work.gave_slot_away || work.email.silence !== undefined) return;
  const { email_id, batch_id } = work.batch;
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
  const done = { slot: work.slot, batch_id };
  await work.storage('give a slot away', () => advance(email_id, work.deps, done));
}

/** Whether another batch can use the slot (docs/decisions/newsletters/job.md). */
export async function otherWaits(work: BatchWork): Promise<boolean> {
  const { batches, clock } = work.deps;
  const { email_id, batch_id } = work.batch;
  const later = await work.storage('look for a batch that waits', () =>
    batches.from(email_id, batchId(Number(batch_id) + 1), LOOK_AHEAD),
  );
  const now = clock().toISOString();
  return later.some(({ status, not_before = '' }) => status === 'pending' && not_before <= now);
}

async function changeSilence(work: BatchWork, next: (known: Silence | undefined) => Silence | undefined) {
  await changeEmail(work, ({ silence: known }) => {
    const silence = next(known);
    return silence === undefined ? { set: {}, remove: ['silence'] } : { set: { silence } };
  });
}

/** Others change the row, too. @returns whether it was changed */
async function changeEmail(work: BatchWork, next: (email: Email) => Change<Email> | undefined): Promise<boolean> {
  const { emails } = work.deps;
  for (let email = work.email; ; ) {
    const was = email;
    const change = next(was);
    if (change === undefined) return false;
    const changed = await work.storage('note whether calls are answered', () => emails.change(was, change));
    const found = changed ?? (await work.storage('read the email', () => emails.read(was.email_id)));
    if (found === undefined) return false;
    work.email = found;
    if (changed !== undefined) return true;
    email = found;
  }
}
