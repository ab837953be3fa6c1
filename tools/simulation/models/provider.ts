import type { Refused, SendResult } from '../../../src/core/delivery/ports.ts';
import { between, type Draw } from '../engine/virtual-time.ts';

/** A time in which a provider answers with errors, or not at all; epoch milliseconds. */
export interface Outage {
  readonly from: number;
  readonly until: number;
  readonly answers: 'errors' | 'nothing' | 'unauthorized';
}

export interface ProviderOptions {
  /** Milliseconds from request to answer. */
  readonly latency_ms: readonly [least: number, most: number];
  /** Requests a second that it takes; absent: all. */
  readonly per_second?: number;
  /** Requests in 24 hours that it takes. */
  readonly per_day?: number;
  /** How it refuses what exceeds them: as SES, which names the limit, or with 429 and Retry-After. */
  readonly refuses?: 'as_ses' | 'with_retry_after';
  readonly outages?: readonly Outage[];
  /** Shares of the requests, 0…1: answered with 503, refused for good, accepted although the answer gets lost. */
  readonly overloaded?: number;
  readonly invalid?: number;
  readonly lost_answers?: number;
}

/** What happened to a request at the provider. */
export interface Taken {
  readonly result: SendResult;
  readonly accepted: boolean;
  /** Milliseconds until the sender has the answer, or gives up waiting for it. */
  readonly after_ms: number;
}

const SEND_TIMEOUT_MS = 20_000;
const RETRY_AFTER_MS = 2_000;
const DAY_MS = 86_400_000;

const ACCEPTED: SendResult = { ok: true, response_code: '200' };
const refusal = (error_type: Refused['error_type'], response_code: string, more: Partial<Refused> = {}): Refused => ({
  ok: false,
  error_type,
  response_code,
  message: `The provider answered ${response_code}.`,
  ...more,
});
const OVERLOADED = refusal('SERVER_OVERLOAD', '503');
const INVALID = refusal('INVALID_RECIPIENT', '400');
const UNAUTHORIZED = refusal('AUTH_FAILED', '401');
const NO_ANSWER: Refused = {
  ok: false,
  error_type: 'NETWORK_TIMEOUT',
  message: 'The provider did not answer in time.',
};
const TOO_FAST = {
  as_ses: refusal('RATE_LIMITED', 'Throttling', { limit: 'rate' }),
  with_retry_after: refusal('RATE_LIMITED', '429', { retry_after_ms: RETRY_AFTER_MS }),
};
const DAY_IS_OVER = refusal('RATE_LIMITED', 'Throttling', { limit: 'quota' });

/** A provider: its latency, limits and outages. What exceeds a rate by a second's worth is refused. */
export class Provider {
  readonly #options: ProviderOptions;
  readonly #draw: Draw;
  /** Epoch milliseconds at which the requests so far would have been due, at the allowed rate. */
  #paidUntil = 0;
  #dayBegan = 0;
  sentToday = 0;
  throttled = 0;

  constructor(options: ProviderOptions, draw: Draw) {
    this.#options = options;
    this.#draw = draw;
  }

  take(now: number): Taken {
    const { latency_ms, overloaded = 0, invalid = 0, lost_answers = 0, outages = [] } = this.#options;
    const after_ms = between(this.#draw, ...latency_ms);
    const luck = this.#draw();
    const outage = outages.find(({ from, until }) => from <= now && now < until);
    if (outage !== undefined) return this.#down(outage, after_ms);
    const limit = this.#limit(now);
    if (limit !== undefined) {
      this.throttled += 1;
      return { result: limit, accepted: false, after_ms };
    }
    if (luck < overloaded + invalid) {
      return { result: luck < overloaded ? OVERLOADED : INVALID, accepted: false, after_ms };
    }
    this.sentToday += 1;
    if (luck < overloaded + invalid + lost_answers)
      return { result: NO_ANSWER, accepted: true, after_ms: SEND_TIMEOUT_MS };
    return { result: ACCEPTED, accepted: true, after_ms };
  }

  #down({ answers }: Outage, after_ms: number): Taken {
    if (answers === 'nothing') return { result: NO_ANSWER, accepted: false, after_ms: SEND_TIMEOUT_MS };
    return { result: answers === 'errors' ? OVERLOADED : UNAUTHORIZED, accepted: false, after_ms };
  }

  #limit(now: number): Refused | undefined {
    const { per_second, per_day, refuses = 'with_retry_after' } = this.#options;
    if (now - this.#dayBegan >= DAY_MS) {
      this.#dayBegan = now;
      this.sentToday = 0;
    }
    if (per_day !== undefined && this.sentToday >= per_day) return DAY_IS_OVER;
    if (per_second === undefined) return undefined;
    const from = Math.max(this.#paidUntil, now - 1_000);
    if (from > now) return TOO_FAST[refuses];
    this.#paidUntil = from + 1000 / per_second;
    return undefined;
  }
}
