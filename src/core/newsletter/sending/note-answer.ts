import { changeUntil } from '../../model/changes.ts';
import { applyOutcome, failPending } from '../accounting/chunk-changes.ts';
import { changeState, refreshBatch } from '../accounting/counts.ts';
import { advance, reopen } from '../lifecycle/advance.ts';
import { afterAnswer, afterSilence, probeAt } from '../lifecycle/holds.ts';
import type { ResolveDeps } from '../lifecycle/resolve.ts';
import { type ChunkKey, type ChunkState, placeInBatch } from '../model/batch.ts';
import { isRejected } from '../model/batch-events.ts';
import type { Email } from '../model/email.ts';
import type { CallOutcome, SendMessage } from '../model/email-message.ts';
import { retryStorage, StorageUnavailableError } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { BulkAnswer, EntryAnswer } from '../model/provider.ts';
import { holdNow, type Step, type Stop, toldLater } from './batch-step.ts';
import { BatchLostError, type HeldBatch } from './held-batch.ts';
import { isAccepted, type Judgement } from './judge-answer.ts';
import { areAll, holdForAll, noRefused, refusedIn, refusedSince, withRefused } from './refused-recipients.ts';
import type { SendDeps } from './send-deps.ts';

/** What a call that is recorded changes for its email, its batch and its sender. */
export async function afterCall(
  answer: BulkAnswer,
  judgement: Judgement,
  chunk: number,
  held: HeldBatch,
): Promise<Step> {
  const { pacing, clock } = held.deps;
  held.note({ provider_failures: judgement.provider_failures });
  const silent = await noteAnswer(answer, held);
  const refused = await noteRefused(chunk, judgement, held);
  // Pacing is told for the calls to come; this one is recorded already.
  if (judgement.limited !== undefined) await pacing.refused(judgement.limited).catch(() => undefined);
  const found = silent ?? refused ?? (isAccepted(judgement) ? toldLater(held.known, clock()) : undefined);
  if (found !== undefined) return found;
  // Another batch has the slot now, so this sender ends. A failure that an operator has to mend is still reported.
  const { step } = judgement;
  return held.known.gave_slot_away && step.kind !== 'fail' ? { kind: 'halt' } : step;
}

/**
 * Notes on the email whether the provider answers. A whole call's refusal is not noted, as it leaves nobody uncertain.
 * @returns why the sender ends, where it does
 */
async function noteAnswer(answer: BulkAnswer, held: HeldBatch): Promise<Stop | undefined> {
  if (answer.kind === 'refused') return undefined;
  if (answer.kind === 'answered') return void (await noteAnswered(answer.entries, held));
  held.note({ unanswered: held.known.unanswered + 1 });
  const { clock, limits, log } = held.deps;
  await changeEmail(held, (email) => afterSilence(email, held.known, clock(), limits));
  const { email_id, silence } = held.known.email;
  if (silence?.until === undefined) return undefined;
  log.warn(`The provider answers no call for email ${email_id}: it holds`, { email_id, ...silence });
  return { kind: 'halt' };
}

async function noteAnswered(answers: readonly EntryAnswer[], held: HeldBatch): Promise<void> {
  held.note({ unanswered: 0, was_answered: true });
  const isAccepted = answers.some(({ accepted }) => accepted);
  const next = (email: Email) => afterAnswer(email, { isAccepted, hasRefused: held.known.refused.places.size > 0 });
  if (next(held.known.email) === undefined) return;
  await changeEmail(held, next);
  const { email } = held.known;
  held.note({ probing: probeAt(email) !== undefined });
  // While the email held, its other slots were empty: batches get them now.
  await held.storage('give the free slots', () => advance(email.email_id, held.deps));
}

/**
 * Notes on the batch who was refused for good. An acceptance shows that those before it were refused for themselves, and
 * they fail. Enough refusals with no acceptance between them make the email hold.
 */
async function noteRefused(chunk: number, judgement: Judgement, held: HeldBatch): Promise<Stop | undefined> {
  const { refused } = judgement;
  if (isAccepted(judgement)) await failRefused(held);
  if (refused.length === 0) return undefined;
  const before = refusedSince(held.known.email, held.known.refused);
  held.note({ refused: withRefused(before, chunk, refused) });
  const hold = holdForAll(refused, held.known, held.deps.limits);
  return hold && holdNow(hold, held.deps.clock());
}

/**
 * Fails the recipients who were refused for themselves. The email is read first: if other batches have found that
 * everybody is refused, these recipients stay pending and are tried again.
 */
export async function failRefused(held: HeldBatch): Promise<void> {
  const { deps, known } = held;
  if (known.refused.places.size === 0) return;
  const email = await held.storage('read the email', () => deps.emails.read(known.email.email_id));
  if (email === undefined) return;
  const refused = refusedSince(email, known.refused);
  held.note({ email, refused: noRefused(refused) });
  if (areAll(refused, deps.limits)) return;
  for (const state of known.chunks) {
    const reasons = refusedIn(refused, state);
    if (reasons.size === 0) continue;
    const failed = await held.storage('end recipients that were refused for themselves', () =>
      changeState(state, (now) => failPending(now, reasons), deps),
    );
    held.keep(failed);
  }
}

/** Changes the email, again on a row that others have changed. @returns whether it was changed */
export async function changeEmail(
  held: HeldBatch,
  next: (email: Email) => Change<Email> | undefined,
): Promise<boolean> {
  const { emails } = held.deps;
  const { email } = held.known;
  const { row, changed } = await changeUntil(
    () => held.storage('read the email', () => emails.read(email.email_id)),
    next,
    (was, change) => held.storage('change the email', () => emails.change(was, change)),
    { from: email },
  );
  held.note({ email: changed ?? row ?? held.known.email });
  return changed !== undefined;
}

/** Milliseconds of an invocation that are kept for queueing an outcome that storage does not take. */
const QUEUE_MS = 5_000;

/**
 * Records the answer, with the retries after sending. What neither storage nor the queue takes is uncertain.
 * @throws StorageUnavailableError storage did not take it before the invocation's time ends; the queue has it
 * @throws BatchLostError someone else took the call for lost; the queue has the outcome now, because the batch and its
 * email may have ended meanwhile, and a message is repeated until all of them are told
 */
export async function recordOutcome(state: ChunkState, outcome: CallOutcome, deps: SendDeps): Promise<ChunkState> {
  const { limits, queues, remaining_ms } = deps;
  const retry = (what: string, reserve_ms: number) => ({
    what,
    tries: limits.storage_after_sending,
    left_ms: () => remaining_ms() - reserve_ms,
  });
  const toQueue = () => {
    const message = { version: 1, kind: 'record', ...keyOf(state), outcome } as const;
    return retryStorage(() => queues.send(message), retry('queue the outcome of a call', 0), deps);
  };
  const record = retry('record the outcome of a call', QUEUE_MS);
  const recorded = await retryStorage(() => writeOpen(state, outcome, deps), record, deps).catch(
    async (error: unknown) => {
      if (error instanceof StorageUnavailableError) await toQueue();
      throw error;
    },
  );
  if (recorded !== undefined) return recorded;
  await toQueue();
  throw new BatchLostError('The call was taken for lost.');
}

/** Applies the outcome while its call is open; undefined when it is not. */
async function writeOpen(
  state: ChunkState,
  outcome: CallOutcome,
  { chunks }: SendDeps,
): Promise<ChunkState | undefined> {
  const applied = (found: ChunkState) =>
    found.call?.call_id === outcome.call_id ? applyOutcome(found, outcome) : undefined;
  return (await changeUntil(() => chunks.readState(keyOf(state)), applied, chunks.change, { from: state })).changed;
}

export const keyOf = ({ email_id, batch_id, chunk }: ChunkKey): ChunkKey => ({ email_id, batch_id, chunk });

/** Records an outcome that storage did not take in time, also again: the counts of an earlier try may be missing. */
export async function recordLate(
  { outcome, ...key }: Extract<SendMessage, { kind: 'record' }>,
  deps: Omit<ResolveDeps, 'newId'>,
): Promise<void> {
  const { email_id, batch_id, chunk } = key;
  const state = await deps.chunks.readState({ email_id, batch_id, chunk });
  if (state === undefined) return;
  const told = await deps.events.read(email_id, batch_id);
  // The next call's answer has taken the place of what the state said of it.
  const isRefused = (n: number) => isRejected(told, placeInBatch(chunk, n));
  await changeState(state, (found) => applyOutcome(found, outcome, isRefused), deps);
  const batch = await refreshBatch(email_id, batch_id, deps);
  if (batch !== undefined && batch.status === 'pending' && batch.counts.pending > 0) await reopen(email_id, deps);
}
