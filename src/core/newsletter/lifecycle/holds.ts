import { isoAfter } from '../../model/time.ts';
import type { Batch } from '../model/batch.ts';
import { type Email, FAULT_HOLDS, type Hold, type Refusals } from '../model/email.ts';
import { type JobLimits, pauseAfter } from '../model/job-limits.ts';
import type { Change } from '../model/ports.ts';

/**
 * The breaker of an email, in three columns of its row: `hold`, what it was refused for; `silence`, calls in a row without
 * an answer; `refusals`, how many were refused for which reason in each batch. While the email holds, one sender at a time
 * makes a probe (in the columns: it asks). Each function says what one event writes, and decides by the row alone.
 */

/** Why a sender makes its email hold. */
export interface HoldCause extends Pick<Hold, 'for' | 'until' | 'message' | 'reason' | 'late'> {
  /** Everybody was refused: refusals until now say nothing about single recipients. */
  readonly everybody?: true;
}

/**
 * The hold of an email after a sender was refused. The probe for a rate comes when the rate has room; any other comes at
 * growing intervals, as an operator may have mended the cause. None comes later than after four minutes: the clock, which
 * starts it, may run a minute later, and five are promised.
 */
export function holdAfter(known: Hold | undefined, cause: HoldCause, now: Date, limits: JobLimits): Hold {
  const at = now.toISOString();
  const { everybody: _, ...told } = cause;
  const isSame = known?.for === cause.for;
  // The refusal is that of a sender beside the one that made the probe.
  if (isSame && known.ask_at > at) return known;
  const asked = isSame ? known.asked + 1 : 0;
  const latest = isoAfter(now, cause.for === 'rate' ? limits.longest_hold_ms : askedIn(asked, limits));
  const { until = latest } = cause;
  const isLimit = cause.for === 'rate' || cause.for === 'quota';
  // A probe that finds no allowance has shown nothing about the fault: the email goes on holding for it.
  if (known !== undefined && faultOf(known) !== undefined && isLimit) {
    return { ...known, ask_at: until < latest ? until : latest };
  }
  return { ...told, asked, since: isSame ? known.since : at, ask_at: until < latest ? until : latest };
}

/** Milliseconds until the next probe, after so many. */
const askedIn = (asked: number, { longest_hold_ms, provider }: JobLimits): number =>
  Math.min(longest_hold_ms, pauseAfter(asked + 1, provider));

/** Calls of a slot in a row without an answer that make the email hold: one may be an accident. */
const SIGN = 2;

/**
 * A call had no answer. From the second one on the email holds: otherwise the whole audience would become uncertain, call
 * by call. One sender at a time makes a probe for one recipient, at growing intervals, until one is answered.
 * @param sender how many calls of its slot had no answer, and whether this was the probe
 */
export function afterSilence(
  { silence }: Email,
  sender: { readonly unanswered: number; readonly probing: boolean },
  now: Date,
  limits: JobLimits,
): Change<Email> {
  const calls = Math.max(sender.unanswered, silence?.calls ?? 0);
  if (calls < SIGN) return { set: { silence: { calls } } };
  const probes = sender.probing ? (silence?.probes ?? 0) + 1 : 0;
  return { set: { silence: { calls, probes, until: isoAfter(now, askedIn(probes, limits)) } } };
}

/** A call hangs, and its slot goes to another batch. @returns undefined where as many hang already as there are slots */
export function afterHang(
  { silence = { calls: 1 }, hung_at = [] }: Email,
  now: Date,
  { call_timeout_ms, concurrency }: JobLimits,
): Change<Email> | undefined {
  const over = isoAfter(now, -call_timeout_ms);
  const hanging = hung_at.filter((at) => at > over);
  return hanging.length >= concurrency ? undefined : { set: { silence, hung_at: [...hanging, now.toISOString()] } };
}

/**
 * A call was answered. The first mail that is accepted ends every hold but one that came by events: only events end that.
 * @param call whether a mail of it was accepted, and whether its batch has somebody who was refused
 * @returns undefined where the answer is no news
 */
export function afterAnswer(
  { silence, hold, refusals = NO_REFUSALS }: Email,
  call: { readonly isAccepted: boolean; readonly hasRefused: boolean },
): Change<Email> | undefined {
  const isFree = call.isAccepted && hold !== undefined && !hold.late;
  const hasTold = Object.keys(refusals.batches).length > 0;
  const isSingle = call.isAccepted && (hasTold || (hold?.late === true && call.hasRefused));
  if (silence === undefined && !isFree && !isSingle) return undefined;
  // Recipients who were refused along with everybody have not failed for themselves: the next round counts anew.
  const wasAll = (isFree || isSingle) && ['refused', 'sender'].includes(hold?.for ?? '');
  const next = wasAll ? nextRound(refusals) : { ...refusals, batches: {} };
  return {
    set: wasAll || isSingle ? { refusals: next } : {},
    remove: [...(silence ? (['silence'] as const) : []), ...(isFree ? (['hold'] as const) : [])],
  };
}

/** Adds how many were refused in a batch. The counts are absolute, so that writing them twice is harmless. */
export function afterRefusals(
  { refusals: { round, batches } = NO_REFUSALS }: Email,
  batch_id: string,
  counts: Refusals['batches'][string],
): Change<Email> {
  return { set: { refusals: { round, batches: { ...batches, [batch_id]: counts } } } };
}

export const NO_REFUSALS: Refusals = { round: 0, batches: {} };

/** Counts anew, where refusals until now say nothing about single recipients. */
export const nextRound = ({ round }: Refusals = NO_REFUSALS): Refusals => ({ round: round + 1, batches: {} });

/** When the next probe is due; undefined while the email does not hold. */
export function probeAt({ hold, silence }: Pick<Email, 'hold' | 'silence'>): string | undefined {
  const times = [hold?.ask_at, silence?.until].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : times.sort().at(-1);
}

/** Whether the senders at work stop, all but the one that makes the probe: their calls would be refused or lost. */
export function stopsAll({ hold, silence }: Pick<Email, 'hold' | 'silence'>): boolean {
  return silence?.until !== undefined || (hold !== undefined && faultOf(hold) !== undefined);
}

/** The kind of fault that an operator has to mend; undefined for a rate or a quota. */
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

/** Makes the next probe due now, for an operator who resumes the email. */
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
