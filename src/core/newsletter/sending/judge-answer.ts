import type { Batch } from '../model/batch.ts';
import type { ChunkState } from '../model/chunk.ts';
import type { EntryOutcome } from '../model/email-message.ts';
import { type JobLimits, pauseAfter } from '../model/job-limits.ts';
import type { BulkAnswer, EntryAnswer, Refusal } from '../model/provider.ts';
import type { Stop } from './stop.ts';

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

/** Judges by the class of each refusal (REFUSAL_CLASSES); the adapter decided the class. */
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
  const refusals = answers.flatMap((answer) => (answer.accepted ? [] : [answer.refusal]));
  const settings = refusals.find(
    (refusal) => refusal.class === 'settings' || (refusal.class === 'unverified' && !given.is_accepted),
  );
  const limited = limitOf(refusals);
  const stop = settings ? ({ kind: 'fail', refusal: settings } as const) : limited && waitFor(limited, given);
  return { outcomes, provider_failures: 0, ...(stop && { stop }), ...(limited && { limited }) };
}

/**
 * Whether a pending recipient was refused for the time being in all its tries: it waits for a `retry`, which gives it
 * new ones.
 */
export function isGivenUp(
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
      return {
        outcomes: pending,
        provider_failures,
        stop: waitFor(refusal.class, given),
        limited: refusal.class,
      };
    case 'unverified':
      if (given.is_accepted) return judgeRefusal({ ...refusal, class: 'recipient' }, { ...given, post_is_known: true });
      return { outcomes: pending, provider_failures, stop: { kind: 'fail', refusal } };
    case 'settings':
      return { outcomes: pending, provider_failures, stop: { kind: 'fail', refusal } };
  }
}

function limitOf(refusals: readonly Refusal[]): 'throttled' | 'quota' | undefined {
  const classes = refusals.map((refusal) => refusal.class);
  return classes.includes('quota') ? 'quota' : classes.includes('throttled') ? 'throttled' : undefined;
}

/** Limits cost no try: they pause, they never fail. */
function waitFor(limited: 'throttled' | 'quota', { limits, now }: Judged): Stop {
  const ms = limited === 'quota' ? limits.quota_ms : limits.throttled_ms;
  return { kind: 'wait', until: new Date(now.getTime() + ms).toISOString(), everyone: true };
}
