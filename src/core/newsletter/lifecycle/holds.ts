import { isoAfter } from '../../model/time.ts';
import type { Batch } from '../model/batch.ts';
import { type Email, FAULT_HOLDS, type Hold, type Refusals } from '../model/email.ts';
import { type JobLimits, pauseAfter } from '../model/job-limits.ts';

/** Why a sender makes its email hold. */
export interface HoldCause extends Pick<Hold, 'for' | 'until' | 'message' | 'reason' | 'late'> {
  /** Everybody was refused: what was refused until now says nothing of a recipient. */
  readonly everybody?: true;
}

/**
 * The hold of an email after a sender was refused. A rate is asked again when it has room; anything else at growing
 * intervals, as nobody knows what an operator does meanwhile; each after four minutes at most, because the clock may come
 * a minute later (design: a hold is asked again within five).
 */
export function holdAfter(known: Hold | undefined, cause: HoldCause, now: Date, limits: JobLimits): Hold {
  const at = now.toISOString();
  const { everybody: _, ...told } = cause;
  const isSame = known?.for === cause.for;
  // Another batch was refused beside the one that asked.
  if (isSame && known.ask_at > at) return known;
  const asked = isSame ? known.asked + 1 : 0;
  const grown = cause.for === 'rate' ? limits.longest_hold_ms : pauseAfter(asked + 1, limits.provider);
  const latest = isoAfter(now, Math.min(limits.longest_hold_ms, grown));
  const { until = latest } = cause;
  const isLimit = cause.for === 'rate' || cause.for === 'quota';
  // Whoever asks about a fault may find no allowance: nobody was accepted by that.
  if (known !== undefined && faultOf(known) !== undefined && isLimit) {
    return { ...known, ask_at: until < latest ? until : latest };
  }
  return { ...told, asked, since: isSame ? known.since : at, ask_at: until < latest ? until : latest };
}

export const NO_REFUSALS: Refusals = { round: 0, batches: {} };

/** Whatever was refused before says nothing of a recipient any more. */
export const nextRound = ({ round }: Refusals = NO_REFUSALS): Refusals => ({ round: round + 1, batches: {} });

/** When the email is asked for again; undefined while nothing but its window is in the way. */
export function askAt({ hold, silence }: Pick<Email, 'hold' | 'silence'>): string | undefined {
  const times = [hold?.ask_at, silence?.until].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : times.sort().at(-1);
}

/** Whether senders that are at work stop, but for the one that asks: what they send would be refused, or lost. */
export function stopsAll({ hold, silence }: Pick<Email, 'hold' | 'silence'>): boolean {
  return silence?.until !== undefined || (hold !== undefined && faultOf(hold) !== undefined);
}

/** What an operator has to mend; undefined where nobody has to. */
export const faultOf = (hold: Hold) => FAULT_HOLDS.find((fault) => fault === hold.for);

const WHY: Readonly<Record<Hold['for'], string>> = {
  rate: 'the rate of the account leaves newsletters no room',
  quota: 'the quota of 24 hours leaves newsletters no room',
  account: 'sending is paused or suspended for the account',
  sender: 'the provider has not verified its sender',
  settings: 'the provider refuses it for a setting or a right',
  refused: 'the provider refuses everybody for the same reason',
};

/** An operator took the sender from its tenant, or gave it to another one, after the publication. */
export const NOT_ALLOWED: HoldCause = { for: 'sender', reason: 'not_allowed' };

/** Why the email holds, and what goes on by itself, for people. */
export function holdSentence({ for: why, reason, message = '' }: Hold): string {
  const said = message === '' ? '' : `: “${message}”`;
  const isOurs = reason === NOT_ALLOWED.reason;
  return `${isOurs ? 'its tenant may not be sent as its sender any more (ops senders)' : WHY[why]}${said}. Nobody is lost by it; it is asked again within five minutes, and goes on by itself.`;
}

/** An operator who resumes wants to know now. */
export function askNow({ hold, silence }: Email, now: string): Pick<Email, 'hold' | 'silence'> {
  return {
    ...(hold && { hold: { ...hold, ask_at: now } }),
    ...(silence?.until && { silence: { ...silence, until: now } }),
  };
}

/** The batch waits until others have shown whether everybody is refused. */
export const isAside = ({ refusals }: Email, batch_id: string): boolean =>
  refusals !== undefined && Object.hasOwn(refusals.batches, batch_id);

/**
 * Until when a batch waits by itself, after a refusal for the time being. What is farther ahead than any such pause was
 * written by a version whose batches waited for the quota, which is the email's matter.
 */
export function waitsUntil({ not_before = '' }: Pick<Batch, 'not_before'>, now: Date, limits: JobLimits): string {
  const longest = Math.max(limits.provider.longest_ms, limits.provider_overloaded.longest_ms);
  return not_before <= isoAfter(now, longest) ? not_before : '';
}
