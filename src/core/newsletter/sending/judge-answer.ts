import { isoAfter } from '../../model/time.ts';
import type { ChunkState } from '../model/batch.ts';
import type { EntryOutcome } from '../model/email-message.ts';
import { type JobLimits, pauseAfter } from '../model/job-limits.ts';
import type { BulkAnswer, EntryAnswer, Refusal } from '../model/provider.ts';
import type { Step, Stop } from './batch-step.ts';
import type { RefusedPlaces } from './refused-recipients.ts';

/** What a provider's answer means for the recipients of the call, and for the sender. */
export interface Judgement {
  readonly outcomes: readonly EntryOutcome[];
  /** Refused for good with no acceptance after it: whether for themselves, or as everybody, shows later. */
  readonly refused: RefusedPlaces;
  /** Refusals of whole calls in a row, this one included. 0 after an answer. */
  readonly provider_failures: number;
  /** The provider refused for its rate or quota: pacing should know. */
  readonly limited?: 'throttled' | 'quota';
  readonly step: Step;
}

export const isAccepted = ({ outcomes }: Pick<Judgement, 'outcomes'>): boolean =>
  outcomes.some(({ state }) => state === 'submitted');

export interface CallGiven {
  readonly entries: readonly number[];
  readonly state: ChunkState;
  readonly tries_before: number;
  readonly provider_failures: number;
  /** Entries that the call might have had. */
  readonly most: number;
  readonly limits: JobLimits;
  readonly now: Date;
}

/** Judges by the class of each refusal (RefusalClass); the adapter decided the class. */
export function judgeAnswer(answer: BulkAnswer, given: CallGiven): Judgement {
  switch (answer.kind) {
    case 'answered':
      return judgeEntries(answer.entries, given);
    case 'refused':
      return judgeRefusal(answer.refusal, given);
    case 'unknown': {
      const outcomes = given.entries.map((n) => ({ n, state: 'uncertain' as const }));
      return { outcomes, refused: [], provider_failures: 0, step: goOn(given) };
    }
  }
}

/** Goes on. `larger`: after an acceptance, the next call may have twice the entries again. */
function goOn({ entries, most, limits }: CallGiven, larger = false): Step {
  return { kind: 'go-on', most: larger ? Math.min(most * 2, limits.chunk_size) : most, tried: entries };
}

/** Refusals that concern one mail, unless many of them follow one another. */
const FOR_GOOD: readonly Refusal['class'][] = ['recipient', 'content', 'unverified'];
const isForGood = ({ class: kind }: Refusal): boolean => FOR_GOOD.includes(kind);

/** The provider takes the entries in their order. */
function judgeEntries(answers: readonly EntryAnswer[], given: CallGiven): Judgement {
  const last = answers.findLastIndex(({ accepted }) => accepted);
  const outcomes = given.entries.map((n, i) => entryOutcome(n, answers[i], i < last, given));
  const refused = given.entries.flatMap((n, i) => {
    const answer = answers[i];
    const isOpen = answer !== undefined && !answer.accepted && i > last && isForGood(answer.refusal);
    return isOpen ? [[n, answer.refusal] as const] : [];
  });
  const refusals = refusalsIn({ kind: 'answered', entries: answers });
  const fault = refusals.find(({ class: kind }) => kind === 'account' || kind === 'settings');
  const limited = limitNamedBy(refusals);
  const stop = fault ? stopFor(fault, given) : limited && waitFor(limited, given);
  const step = stop ?? goOn(given, last >= 0);
  return { outcomes, refused, provider_failures: 0, step, ...(limited && { limited }) };
}

function entryOutcome(n: number, answer: EntryAnswer | undefined, isAlone: boolean, given: CallGiven): EntryOutcome {
  // An answer that lacks an entry does not tell what became of it.
  if (answer === undefined) return { n, state: 'uncertain' };
  if (answer.accepted) return { n, state: 'submitted', message_id: answer.message_id };
  const { class: kind, reason } = answer.refusal;
  switch (kind) {
    case 'recipient':
    case 'content':
    case 'unverified':
      return { n, state: isAlone ? 'failed' : 'pending', reason };
    case 'transient':
    case 'overloaded':
      return { n, state: 'pending', tries: Math.max(given.state.tries[n] ?? 0, given.tries_before) + 1, reason };
    default:
      return { n, state: 'pending' };
  }
}

function judgeRefusal(refusal: Refusal, given: CallGiven): Judgement {
  const { entries, provider_failures, limits, now } = given;
  const pending: EntryOutcome[] = entries.map((n) => ({ n, state: 'pending' }));
  const all = { outcomes: pending, refused: [], provider_failures, step: goOn(given) };
  switch (refusal.class) {
    case 'recipient':
    case 'content':
    case 'unverified':
      // Halved until the entry that is refused is alone in its call.
      if (entries.length > 1)
        return { ...all, step: { kind: 'go-on', most: Math.ceil(entries.length / 2), tried: [] } };
      return {
        ...all,
        outcomes: entries.map((n) => ({ n, state: 'pending', reason: refusal.reason })),
        refused: entries.map((n) => [n, refusal]),
      };
    case 'transient':
    case 'overloaded': {
      const tries = refusal.class === 'overloaded' ? limits.provider_overloaded : limits.provider;
      const failures = provider_failures + 1;
      const until = new Date(now.getTime() + pauseAfter(failures, tries)).toISOString();
      const step: Stop = failures > tries.retries ? { kind: 'fail', refusal } : { kind: 'wait', until };
      return { ...all, provider_failures: failures, step };
    }
    case 'throttled':
    case 'quota':
      return { ...all, step: waitFor(refusal.class, given), limited: refusal.class };
    case 'account':
    case 'settings':
      return { ...all, step: stopFor(refusal, given) };
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
function waitFor(limited: 'throttled' | 'quota', { limits, now }: CallGiven): Stop {
  if (limited === 'quota') {
    return { kind: 'wait', until: isoAfter(now, limits.longest_hold_ms), hold: { for: 'quota' } };
  }
  const until = isoAfter(now, limits.throttled_ms);
  return { kind: 'wait', until, hold: { for: 'rate', until } };
}

/** What everybody is refused for, and an operator mends. */
function stopFor({ class: kind, reason, message = reason }: Refusal, { limits, now }: CallGiven): Stop {
  const until = isoAfter(now, limits.longest_hold_ms);
  return { kind: 'wait', until, hold: { for: kind === 'account' ? 'account' : 'settings', message } };
}
