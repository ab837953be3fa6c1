import { changeState, failPending } from '../accounting/chunk-changes.ts';
import { type HoldCause, NO_REFUSALS } from '../lifecycle/holds.ts';
import type { ChunkKey } from '../model/chunk.ts';
import type { Refusal } from '../model/provider.ts';
import type { BatchWork } from './batch-work.ts';
import type { Judgement } from './judge-answer.ts';
import { changeEmail } from './note-answer.ts';
import type { Stop } from './send-deps.ts';

/**
 * Ends those who were refused for themselves. The email is read before: it may hold meanwhile because others found that
 * everybody is refused, and then they are tried again.
 */
export async function failRefused(work: BatchWork): Promise<void> {
  const { refused, email, deps } = work;
  if (refused.isEmpty) return;
  const found = await work.storage('read the email', () => deps.emails.read(email.email_id));
  if (found === undefined) return;
  work.email = found;
  refused.follow(found);
  // A sender that found everybody to be refused died before its email knew.
  if (Object.values(refused.counts).some((count) => count >= deps.limits.refused_recipients)) refused.clear();
  for (const state of work.states) {
    const reasons = refused.in(state);
    if (reasons.size === 0) continue;
    const failed = await work.storage('end recipients that were refused for themselves', () =>
      changeState(state, (now) => failPending(now, reasons), deps),
    );
    work.keep(failed);
  }
  refused.clear();
}

/**
 * Why the email holds, if enough recipients were refused for the reason with no acceptance between, those that other
 * batches have told of included. A sender that was never accepted as verified needs no more than one.
 */
function refusedForAll(work: BatchWork, { class: kind, reason, message }: Refusal): Stop | undefined {
  const isSender = kind === 'unverified';
  const least = isSender && !work.is_accepted ? 1 : work.deps.limits.refused_recipients;
  if (countOf(reason, work) < least) return undefined;
  return holdFor({ for: isSender ? 'sender' : 'refused', reason, message: message ?? reason }, work);
}

export const isAccepted = ({ outcomes }: Judgement) => outcomes.some(({ state }) => state === 'submitted');

/** An acceptance ends those who were refused before it; enough refusals with none between make the email hold. */
export async function noteRefused(
  { chunk }: ChunkKey,
  judgement: Judgement,
  work: BatchWork,
): Promise<Stop | undefined> {
  if (isAccepted(judgement)) await failRefused(work);
  if (judgement.refused.length === 0) return undefined;
  work.refused.follow(work.email);
  for (const [n, refusal] of judgement.refused) work.refused.add(chunk, n, refusal);
  const [first] = judgement.refused.flatMap(([, refusal]) => refusedForAll(work, refusal) ?? []);
  return first;
}

/** A call that is not answered leaves its recipients uncertain, and one of which events tell later shows no more with all. */
export function mostPerCall({ email: { silence, hold }, asks, deps: { limits } }: BatchWork): number {
  if (silence?.until !== undefined) return 1;
  return Math.min(limits.chunk_size, asks && hold?.late ? limits.refused_recipients : limits.chunk_size);
}

/** Where events refused everybody late, an acceptance shows nothing: those of the few that were accepted now tell. */
export function toldLater(judgement: Judgement, { asks, email: { hold }, deps }: BatchWork): Stop | undefined {
  if (!asks || !hold?.late || !isAccepted(judgement)) return undefined;
  const { ask_at: _, asked: __, since: ___, ...cause } = hold;
  return { kind: 'wait', until: deps.clock().toISOString(), hold: cause };
}

function countOf(reason: string, { refused, email, batch }: BatchWork): number {
  const others = Object.entries(email.refusals?.batches ?? {}).filter(([batch_id]) => batch_id !== batch.batch_id);
  return others.reduce((sum, [, counts]) => sum + (counts[reason] ?? 0), refused.counts[reason] ?? 0);
}

/** Everybody is refused: what was refused until now says nothing of a recipient. */
export function holdFor(cause: HoldCause, { deps }: BatchWork): Stop {
  return { kind: 'wait', until: deps.clock().toISOString(), hold: { ...cause, everybody: true } };
}

/**
 * Counts on the email who was refused in the batch, before the batch waits for others. The counts are absolute, so that
 * telling them twice is harmless. @returns a hold, if it is everybody with those of others
 */
export async function tellRefused(work: BatchWork): Promise<Stop | undefined> {
  const { refused, batch } = work;
  await changeEmail(work, (email) => {
    refused.follow(email);
    if (refused.isEmpty) return undefined;
    const { round, batches } = email.refusals ?? NO_REFUSALS;
    return { set: { refusals: { round, batches: { ...batches, [batch.batch_id]: refused.counts } } } };
  });
  const reason = Object.keys(refused.counts).find((one) => countOf(one, work) >= work.deps.limits.refused_recipients);
  if (reason !== undefined) return holdFor({ for: 'refused', reason, message: reason }, work);
  refused.tell();
  return undefined;
}

/** Who asks whether everybody is still refused does not ask for the same recipients each time: they may be the bad ones. */
export function inTurn<T>(all: readonly T[], { asks, email: { hold } }: BatchWork, step: number): readonly T[] {
  const from = asks && hold !== undefined && all.length > 0 ? (hold.asked * step) % all.length : 0;
  return from === 0 ? all : [...all.slice(from), ...all.slice(0, from)];
}
