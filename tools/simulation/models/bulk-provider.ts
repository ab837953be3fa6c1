import type { BulkAnswer, BulkEntry, EntryAnswer, Refusal } from '../../../src/core/newsletter/model/provider.ts';
import { SendingLimits } from '../../../src/local/providers/ses/sending-limits.ts';
import { between, type Draw, START } from '../engine/virtual-time.ts';

export interface BulkProviderOptions {
  /** Milliseconds from a call to its answer. */
  readonly latency_ms: readonly [least: number, most: number];
  /** Recipients a second. */
  readonly per_second: number;
  /** Recipients in any 24 hours. */
  readonly per_day: number;
  /** Shares of the calls, 0…1: answered with 503, accepted although the answer gets lost. */
  readonly overloaded: number;
  readonly lost_answers: number;
  /** Shares of the recipients: refused for the time being, refused for good. */
  readonly transient: number;
  readonly refused: number;
}

/** It refuses everybody for good: by entry, by call, as if the sender were not verified. */
const REFUSING = ['refuses_entries', 'refuses_calls', 'unverified'] as const;

/** What the provider does with the calls of a time. */
export const MOODS = [
  ...(['accepts', 'transient', 'overloaded', 'throttled', 'quota', 'settings'] as const),
  ...(['unknown_accepted', 'unknown_refused', 'slow', 'some_transient', 'all_transient'] as const),
  ...(['silent', 'quota_in_the_middle', ...REFUSING, 'account', 'refuses_late'] as const),
] as const;
export type Mood = (typeof MOODS)[number];

/** What happened to a call at the provider. */
export interface BulkTaken {
  readonly answer: BulkAnswer;
  /** The entries whose mail goes out, whatever the answer says or whether it comes. */
  readonly accepted: readonly BulkEntry[];
  /** Milliseconds until the answer; undefined: it never comes. */
  readonly after_ms?: number;
  /** How long after its caller gave up it accepts. */
  readonly late_ms?: number;
  /** Who was refused only because everybody is at the time. */
  readonly everybody?: readonly BulkEntry[];
  /** Accepted, and not sent on: an event tells of it later. */
  readonly late?: readonly BulkEntry[];
}

const LATE_MS = 120_000;

const refusal = (kind: Refusal['class'], reason: string): Refusal => ({ class: kind, reason });
const QUOTA = refusal('quota', 'account_daily_quota_exceeded');
const TRANSIENT = refusal('transient', 'transient_failure');
const RESET: BulkAnswer = { kind: 'unknown', error: 'ECONNRESET' };
const NOTHING: BulkTaken = { answer: RESET, accepted: [] };

const isGood = ({ to }: BulkEntry): boolean => !to.includes('@refused.') && !to.includes('@rejected.');

/** SES's SendBulkEmail, with the rate of the local SES. What exceeds the quota of the last 24 hours is refused entry by entry. */
export class BulkProvider {
  readonly #options: BulkProviderOptions;
  readonly #draw: Draw;
  readonly #limits: SendingLimits;
  #ids = 0;
  /** The id of each mail. */
  readonly mails = new WeakMap<BulkEntry, string>();
  /** The batch whose next call is not answered. */
  #hanging = '';
  /** By seconds since the start; the last one that has begun holds. */
  moods: readonly { readonly from_s: number; readonly mood: Mood }[] = [];
  calls = 0;
  /** Mails that went out. */
  accepted = 0;
  /** Recipients refused because they exceeded the quota. */
  overQuota = 0;
  /** Recipients in any 24 hours, others of the account included. */
  per_day: number;

  constructor(options: BulkProviderOptions, draw: Draw) {
    this.#options = options;
    this.per_day = options.per_day;
    this.#draw = draw;
    this.#limits = new SendingLimits({ per_second: options.per_second, per_day: -1 }, START.getTime());
  }

  /** Calls refused because they exceeded the rate. */
  get throttled(): number {
    return this.#limits.refused.rate;
  }

  /** The next call for a batch is not answered, and not accepted. */
  hangNext(batch_id: string): void {
    this.#hanging = batch_id;
  }

  take(entries: readonly BulkEntry[], now: number): BulkTaken {
    const { latency_ms, overloaded, lost_answers } = this.#options;
    this.calls += 1;
    const after_ms = between(this.#draw, ...latency_ms);
    const luck = this.#draw();
    const none = (given: Refusal): BulkTaken => ({
      answer: { kind: 'refused', refusal: given },
      accepted: [],
      after_ms,
    });
    if (this.#hanging !== '' && entries[0]?.tags.chunk.startsWith(`${this.#hanging}-`)) {
      this.#hanging = '';
      return NOTHING;
    }
    // An address that no provider takes fails the call for all.
    if (entries.some(({ to }) => to.includes('@content.'))) return none(refusal('content', 'bad_request'));
    const mood = this.#mood(now);
    switch (mood) {
      case 'transient':
      case 'overloaded':
      case 'throttled':
      case 'quota':
      case 'settings':
      case 'account':
        return none(refusal(mood, `because_${mood}`));
      case 'refuses_calls':
      case 'unverified': {
        const kind = mood === 'unverified' ? mood : 'content';
        const alone = entries.length === 1 ? { everybody: entries.filter(isGood) } : {};
        return { ...none(refusal(kind, 'message_rejected')), ...alone };
      }
      case 'refuses_entries': {
        const given = { accepted: false, refusal: refusal('recipient', 'message_rejected') } as const;
        const answer = { kind: 'answered', entries: entries.map(() => given) } as const;
        return { answer, accepted: [], after_ms, everybody: entries.filter(isGood) };
      }
      case 'unknown_refused':
        return { ...NOTHING, after_ms };
      case 'silent':
        return NOTHING;
    }
    if (luck < overloaded) return none(refusal('overloaded', 'service_unavailable'));
    if (this.#limits.take(0, now) !== undefined) return none(refusal('throttled', 'too_many_requests'));
    const { answers, ...sent } = this.#accept(entries, mood, now);
    const late = mood === 'refuses_late' ? sent.accepted : sent.accepted.filter(({ to }) => to.includes('@rejected.'));
    const accepted = sent.accepted.filter((entry) => !late.includes(entry));
    if (mood === 'unknown_accepted') return { answer: RESET, accepted, late, after_ms };
    const taken = { answer: { kind: 'answered', entries: answers }, accepted, late } satisfies BulkTaken;
    if (mood === 'refuses_late') return { ...taken, after_ms, everybody: late.filter(isGood) };
    if (mood === 'slow') return { ...taken, late_ms: this.#draw() * LATE_MS };
    return luck < overloaded + lost_answers ? taken : { ...taken, after_ms };
  }

  /** What the account's owner sees (GetAccount). */
  isSending(now: number): boolean {
    return this.#mood(now) !== 'account';
  }

  /** Whether it would take mails of newsletters, whatever a budget keeps of the quota. */
  hasRoom(now: number): boolean {
    return this.isSending(now) && this.sentInADay(now) < this.per_day / 2;
  }

  /** Others of the account send. */
  sendOthers(count: number, now: number): void {
    this.#limits.take(count, now);
  }

  /** Recipients of the last 24 hours. */
  sentInADay(now: number): number {
    return this.#limits.sentIn24Hours(now);
  }

  #accept(entries: readonly BulkEntry[], mood: Mood, now: number) {
    const left = this.per_day - this.sentInADay(now);
    const answers: EntryAnswer[] = [];
    const accepted: BulkEntry[] = [];
    for (const [i, entry] of entries.entries()) {
      const given = this.#refusalOf(entry, accepted.length >= left, mood, i >= entries.length / 2);
      if (given !== undefined) answers.push({ accepted: false, refusal: given });
      else {
        accepted.push(entry);
        const message_id = `0100${String(++this.#ids).padStart(56, '0')}`;
        answers.push({ accepted: true, message_id });
        this.mails.set(entry, message_id);
      }
    }
    this.accepted += accepted.length;
    this.#limits.take(accepted.length, now);
    return { answers, accepted };
  }

  #refusalOf({ to }: BulkEntry, overQuota: boolean, mood: Mood, secondHalf: boolean): Refusal | undefined {
    const { transient, refused } = this.#options;
    if (overQuota) {
      this.overQuota += 1;
      return QUOTA;
    }
    if (to.includes('@refused.')) return refusal('recipient', 'message_rejected');
    if (mood === 'all_transient' || (mood === 'some_transient' && this.#draw() < 0.5)) return TRANSIENT;
    if (mood === 'quota_in_the_middle' && secondHalf) return QUOTA;
    const luck = this.#draw();
    if (luck < refused) return refusal('recipient', 'message_rejected');
    return luck < refused + transient ? TRANSIENT : undefined;
  }

  #mood(now: number): Mood {
    const second = (now - START.getTime()) / 1000;
    return this.moods.findLast(({ from_s }) => from_s <= second)?.mood ?? 'accepts';
  }
}
