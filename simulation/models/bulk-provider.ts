import type { BulkAnswer, BulkEntry, EntryAnswer, Refusal } from '../../src/core/newsletter/model/provider.ts';
import { between, type Draw } from '../engine/random.ts';

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

/** What happened to a call at the provider. */
export interface BulkTaken {
  readonly answer: BulkAnswer;
  /** The entries whose mail goes out, whatever the answer says or whether it comes. */
  readonly accepted: readonly BulkEntry[];
  /** Milliseconds until the answer; undefined: it never comes. */
  readonly after_ms: number | undefined;
}

const BURST_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

const refusal = (kind: Refusal['class'], reason: string): Refusal => ({ class: kind, reason });
const QUOTA = refusal('quota', 'account_daily_quota_exceeded');

/**
 * SES's SendBulkEmail: a call may exceed the rate, and then none is taken until that is paid back. What
 * exceeds the quota of the last 24 hours is refused entry by entry.
 */
export class BulkProvider {
  readonly #options: BulkProviderOptions;
  readonly #draw: Draw;
  /** Recipients by minute: those of the last 24 hours count. */
  readonly #byMinute = new Map<number, number>();
  /** Epoch milliseconds at which the recipients so far would have been due, at the allowed rate. */
  #paidUntil = 0;
  #ids = 0;
  calls = 0;
  /** Calls refused because they exceeded the rate, and recipients because they exceeded the quota. */
  throttled = 0;
  overQuota = 0;

  constructor(options: BulkProviderOptions, draw: Draw) {
    this.#options = options;
    this.#draw = draw;
  }

  take(entries: readonly BulkEntry[], now: number): BulkTaken {
    const { latency_ms, overloaded, lost_answers, per_second } = this.#options;
    this.calls += 1;
    const after_ms = between(this.#draw, ...latency_ms);
    const luck = this.#draw();
    const none = (given: Refusal): BulkTaken => ({
      answer: { kind: 'refused', refusal: given },
      accepted: [],
      after_ms,
    });
    if (luck < overloaded) return none(refusal('overloaded', 'service_unavailable'));
    if (this.#paidUntil > now) {
      this.throttled += 1;
      return none(refusal('throttled', 'too_many_requests'));
    }
    const left = this.#options.per_day - this.sentInADay(now);
    const answers: EntryAnswer[] = [];
    const accepted: BulkEntry[] = [];
    for (const entry of entries) {
      const given = this.#refusalOf(accepted.length >= left);
      if (given !== undefined) answers.push({ accepted: false, refusal: given });
      else {
        accepted.push(entry);
        answers.push({ accepted: true, message_id: `0100${String(++this.#ids).padStart(56, '0')}` });
      }
    }
    this.#paidUntil = Math.max(this.#paidUntil, now - BURST_MS) + (accepted.length * 1000) / per_second;
    const minute = Math.floor(now / MINUTE_MS);
    this.#byMinute.set(minute, (this.#byMinute.get(minute) ?? 0) + accepted.length);
    const lost = luck < overloaded + lost_answers;
    return { answer: { kind: 'answered', entries: answers }, accepted, after_ms: lost ? undefined : after_ms };
  }

  /** Recipients of the last 24 hours. */
  sentInADay(now: number): number {
    const first = Math.floor(now / MINUTE_MS) - DAY_MINUTES;
    let sum = 0;
    for (const [minute, count] of this.#byMinute) {
      if (minute > first) sum += count;
      else this.#byMinute.delete(minute);
    }
    return sum;
  }

  #refusalOf(overQuota: boolean): Refusal | undefined {
    const { transient, refused } = this.#options;
    if (overQuota) {
      this.overQuota += 1;
      return QUOTA;
    }
    const luck = this.#draw();
    if (luck < refused) return refusal('recipient', 'message_rejected');
    return luck < refused + transient ? refusal('transient', 'transient_failure') : undefined;
  }
}
