/** What the local SES allows, as an account's limits. */
export interface SesLimits {
  /** Recipients a second. */
  readonly per_second: number;
  /** Recipients in any 24 hours; -1: no quota. */
  readonly per_day: number;
  /** False while sending is paused. */
  readonly sending: boolean;
}

/** More than the samples and a demonstration need, so that nothing is refused unless someone lowers it. */
const GENEROUS: SesLimits = { per_second: 500, per_day: 1_000_000, sending: true };

export type Exceeded = 'rate' | 'quota' | 'paused';

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/**
 * Counts recipients as SES does. The rate is a bucket of one second: a call may take more than is left in it, and then
 * nothing is accepted until that is paid back. The quota is of the last 24 hours, by the minute.
 */
export class SendingLimits {
  #limits: SesLimits;
  #left: number;
  #countedAt: number;
  #minutes: { readonly minute: number; count: number }[] = [];
  /** Calls that were refused, by the limit. */
  readonly refused: Record<Exceeded, number> = { rate: 0, quota: 0, paused: 0 };

  constructor(limits: Partial<SesLimits>, now: number) {
    this.#limits = { ...GENEROUS, ...limits };
    this.#left = this.#limits.per_second;
    this.#countedAt = now;
  }

  get limits(): SesLimits {
    return this.#limits;
  }

  change(limits: Partial<SesLimits>): void {
    this.#limits = { ...this.#limits, ...limits };
    this.#left = Math.min(this.#left, this.#limits.per_second);
  }

  /** @returns which limit refuses the call; undefined when it is accepted, and then it counts */
  take(recipients: number, now: number): Exceeded | undefined {
    const exceeded = this.#exceeded(recipients, now);
    if (exceeded !== undefined) {
      this.refused[exceeded] += 1;
      return exceeded;
    }
    this.#left -= recipients;
    const minute = Math.floor(now / MINUTE);
    const last = this.#minutes.at(-1);
    if (last?.minute === minute) last.count += recipients;
    else this.#minutes.push({ minute, count: recipients });
    return undefined;
  }

  sentIn24Hours(now: number): number {
    this.#minutes = this.#minutes.filter(({ minute }) => minute * MINUTE > now - DAY);
    return this.#minutes.reduce((sum, { count }) => sum + count, 0);
  }

  #exceeded(recipients: number, now: number): Exceeded | undefined {
    const { per_second, per_day, sending } = this.#limits;
    this.#left = Math.min(Math.max(1, per_second), this.#left + ((now - this.#countedAt) / 1000) * per_second);
    this.#countedAt = now;
    if (!sending) return 'paused';
    if (per_day >= 0 && this.sentIn24Hours(now) + recipients > per_day) return 'quota';
    // Rounding of times must not refuse the call that comes just in time.
    return this.#left > -1e-6 && this.#left >= Math.min(1, per_second) - 1e-6 ? undefined : 'rate';
  }
}
