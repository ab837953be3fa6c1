import { isoAfter } from '../../model/time.ts';
import { advance } from '../lifecycle/advance.ts';
import { type Batch, batchId } from '../model/batch.ts';
import type { ChunkState } from '../model/chunk.ts';
import type { Email, Silence } from '../model/email.ts';
import type { EntryOutcome } from '../model/email-message.ts';
import { type JobLimits, pauseAfter } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';
import type { BulkAnswer, EntryAnswer, Refusal } from '../model/provider.ts';
import type { BatchWork } from './batch-work.ts';
import type { Stop } from './send-deps.ts';

/** What a provider's answer means for the recipients of the call, and for the sender. */
export interface Judgement {
  readonly outcomes: readonly EntryOutcome[];
  /** The call is to be repeated with fewer entries, until the bad one stands alone. */
  readonly halve?: true;
  /** The mail was refused alone, and nothing shows yet whether for its recipient or for the post. */
  readonly suspect?: Refusal;
  /** Refusals of whole calls in a row, this one included. 0 after an answer. */
  readonly provider_failures: number;
  readonly stop?: Stop;
  /** The provider refused for its rate or quota: pacing should know. */
  readonly limited?: 'throttled' | 'quota';
}

export interface Judged {
  readonly entries: readonly number[];
  readonly state: ChunkState;
  readonly tries_before: number;
  readonly provider_failures: number;
  /** The provider has accepted a mail of the batch: its sender is verified. */
  readonly is_accepted: boolean;
  /** The provider has accepted the post, or it was tried with everybody: a refusal is the recipient's. */
  readonly post_is_known: boolean;
  readonly limits: JobLimits;
  readonly now: Date;
}

/** Judges by the class of each refusal (RefusalClass); the adapter decided the class. */
export function judgeAnswer(answer: BulkAnswer, given: Judged): Judgement {
  switch (answer.kind) {
    case 'answered':
      return judgeEntries(answer.entries, given);
    case 'refused':
      return judgeRefusal(answer.refusal, given);
    case 'unknown':
      return { outcomes: given.entries.map((n) => ({ n, state: 'uncertain' })), provider_failures: 0 };
  }
}

function judgeEntries(answers: readonly EntryAnswer[], judged: Judged): Judgement {
  const given = { ...judged, is_accepted: judged.is_accepted || answers.some(({ accepted }) => accepted) };
  const outcomes = given.entries.map((n, i) => entryOutcome(n, answers[i], given));
  const refusals = refusalsIn({ kind: 'answered', entries: answers });
  const settings = refusals.find(
    (refusal) => refusal.class === 'settings' || (refusal.class === 'unverified' && !given.is_accepted),
  );
  const limited = limitNamedBy(refusals);
  const stop = settings ? ({ kind: 'fail', refusal: settings } as const) : limited && waitFor(limited, given);
  return { outcomes, provider_failures: 0, ...(stop && { stop }), ...(limited && { limited }) };
}

/** Whether a pending recipient used up its tries: it waits for a `retry`, which gives it new ones. */
export function hasUsedUpTries(
  { tries }: Pick<ChunkState, 'tries'>,
  n: number,
  { tries_before = 0 }: Pick<Batch, 'tries_before'>,
  { provider }: Pick<JobLimits, 'provider'>,
): boolean {
  return (tries[n] ?? 0) - tries_before > provider.tries;
}

function entryOutcome(n: number, answer: EntryAnswer | undefined, given: Judged): EntryOutcome {
  // An answer that lacks an entry does not tell what became of it.
  if (answer === undefined) return { n, state: 'uncertain' };
  if (answer.accepted) return { n, state: 'submitted', message_id: answer.message_id };
  const { class: kind, reason } = answer.refusal;
  switch (kind) {
    case 'recipient':
    case 'content':
      return { n, state: 'failed', reason };
    case 'unverified':
      return given.is_accepted ? { n, state: 'failed', reason } : { n, state: 'pending' };
    case 'transient':
    case 'overloaded':
      return { n, state: 'pending', tries: Math.max(given.state.tries[n] ?? 0, given.tries_before) + 1, reason };
    default:
      return { n, state: 'pending' };
  }
}

function judgeRefusal(refusal: Refusal, given: Judged): Judgement {
  const { entries, provider_failures, limits, now } = given;
  const pending: EntryOutcome[] = entries.map((n) => ({ n, state: 'pending' }));
  switch (refusal.class) {
    case 'recipient':
    case 'content':
      if (entries.length > 1) return { outcomes: pending, halve: true, provider_failures };
      if (!given.post_is_known) return { outcomes: pending, suspect: refusal, provider_failures };
      return { outcomes: entries.map((n) => ({ n, state: 'failed', reason: refusal.reason })), provider_failures };
    case 'transient':
    case 'overloaded': {
      const tries = refusal.class === 'overloaded' ? limits.provider_overloaded : limits.provider;
      const failures = provider_failures + 1;
      const until = new Date(now.getTime() + pauseAfter(failures, tries)).toISOString();
      const stop: Stop = failures > tries.tries ? { kind: 'fail', refusal } : { kind: 'wait', until, everyone: false };
      return { outcomes: pending, provider_failures: failures, stop };
    }
    case 'throttled':
    case 'quota':
      return { outcomes: pending, provider_failures, stop: waitFor(refusal.class, given), limited: refusal.class };
    case 'unverified':
      if (given.is_accepted) return judgeRefusal({ ...refusal, class: 'recipient' }, { ...given, post_is_known: true });
      return { outcomes: pending, provider_failures, stop: { kind: 'fail', refusal } };
    case 'settings':
      return { outcomes: pending, provider_failures, stop: { kind: 'fail', refusal } };
  }
}

/** What was refused, of the call or of its entries. */
export function refusalsIn(answer: BulkAnswer): readonly Refusal[] {
  if (answer.kind === 'unknown') return [];
  if (answer.kind === 'refused') return [answer.refusal];
  return answer.entries.flatMap((entry) => (entry.accepted ? [] : [entry.refusal]));
}

/** The limit of the account that refusals name, which pacing should know. */
export function limitNamedBy(refusals: readonly Refusal[]): 'throttled' | 'quota' | undefined {
  const classes = refusals.map((refusal) => refusal.class);
  return classes.includes('quota') ? 'quota' : classes.includes('throttled') ? 'throttled' : undefined;
}

/** Limits cost no try: they pause, they never fail. */
function waitFor(limited: 'throttled' | 'quota', { limits, now }: Judged): Stop {
  const ms = limited === 'quota' ? limits.quota_ms : limits.throttled_ms;
  return { kind: 'wait', until: new Date(now.getTime() + ms).toISOString(), everyone: true };
}

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
