import { isoAfter } from '../../model/time.ts';
import { advance } from '../lifecycle/advance.ts';
import type { Silence } from '../model/email.ts';
import { pauseAfter } from '../model/job-limits.ts';
import type { BulkAnswer } from '../model/provider.ts';
import type { BatchWork } from './batch-work.ts';
import type { Stop } from './stop.ts';

/** Calls of a sender without an answer, in a row: one is an accident, two are a sign. */
const SIGN = 2;

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

/** Others change the row, too. */
async function changeSilence(work: BatchWork, next: (known: Silence | undefined) => Silence | undefined) {
  const { emails } = work.deps;
  for (let email = work.email; ; ) {
    const silence = next(email.silence);
    const change = silence === undefined ? { set: {}, remove: ['silence'] as const } : { set: { silence } };
    const was = email;
    const changed = await work.storage('note whether calls are answered', () => emails.change(was, change));
    const found = changed ?? (await work.storage('read the email', () => emails.read(was.email_id)));
    if (found === undefined) return;
    work.email = found;
    if (changed !== undefined) return;
    email = found;
  }
}
