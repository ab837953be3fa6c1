import { RESERVE_MS } from '../delivery/policy/attempt-times.ts';
import type { Refused } from '../delivery/ports.ts';
import type { Clock } from '../model/time.ts';
import {
  type AccountLimits,
  accountIn,
  dailyQuota,
  exhaustedSteps,
  isStopped,
  limitsSteps,
  loweringSteps,
  plannedRate,
  RECOVERY_MS,
  roomFor,
} from './account.ts';
import { KEPT_MS, type PacingPolicy, type Use } from './pacing-policy.ts';
import { type Allowance, type Ask, planReservation, rank } from './plan-reservation.ts';
import { applied, clockStep, numberIn, type PacingStore, type Registers, SharedClock } from './registers.ts';

export interface PacerDeps {
  readonly store: PacingStore;
  /** The channel whose budget this is: the name of its registers. */
  readonly channel: string;
  readonly policy: PacingPolicy;
  readonly clock: Clock;
  readonly random: () => number;
  /** How many workers share the budgets at most: what each takes alone while storage fails. */
  readonly workers: number;
  readonly readLimits?: () => Promise<AccountLimits>;
  /** Storage or the provider failed; deliveries go on. */
  readonly onFault?: (error: unknown) => void;
}

/** Which of the account's limits an attempt exceeded. */
export type ExceededLimit = NonNullable<Refused['limit']>;

/** How often a reservation is tried while other workers are faster. */
const TRIES = 4;
/** How long the account's limits are trusted; a minute where they are nearly used up, or nothing may be sent. */
const TRUSTED_MS = 300_000;
const TRUSTED_IN_NEED_MS = 60_000;
const IN_NEED = 0.6;
/** One worker asks the provider at a time, and nobody within this time after it failed. */
const LEASE_MS = 60_000;
/**
 * A view that is older is read again for what comes through a lane: a write that fails for it costs five times as much. The
 * calls of a newsletter are large and follow one another: their guards hold, and a read each costs them CPU.
 */
const VIEW_MS = 100;
/** A refusal for the day is not repeated from a view that is older than this. */
const FRESH_MS = 5_000;
/** Slots that a batch takes ahead for the next ones of its worker, as far as the budget has kept them, and how long they last. */
const AHEAD = 12;
const AHEAD_MS = 10_000;
/** A full batch of SQS: its asks share a reservation anyway. In a flood all are full, and nothing is sent by old slots. */
const FULL = 10;
/** Rest after a failure of storage: each try could take seconds of a batch's time. */
const ALONE_MS = 5_000;

const countOf = (asks: readonly Ask[]) => asks.reduce((sum, { count }) => sum + count, 0);

/** The least important of the asks, of which there is one at least. */
const leastOf = (asks: readonly Ask[]): Ask => asks.reduce((least, ask) => (rank(ask) > rank(least) ? ask : least));

/** The budget of the account that all e-mail goes through, as one worker uses it. */
export class Pacer {
  readonly #deps: PacerDeps;
  readonly #clock: SharedClock;
  #view: Registers | undefined;
  #viewedAt = 0;
  /** Slots that were taken ahead, for this use and more important ones. */
  #ahead: { readonly slots: readonly number[]; readonly use: Use; readonly until: number } | undefined;
  /** Of them, how many were not used in time: they count as sent until the next reservation. */
  #unused = 0;
  /** What this worker takes by itself while storage fails. */
  #alone: Registers = {};
  #aloneUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: PacerDeps) {
    this.#deps = deps;
    this.#clock = new SharedClock(deps.clock);
  }

  /** Reserves for a batch. Never rejects. @returns the answers in the order of the asks */
  async reserve(asks: readonly Ask[]): Promise<readonly Allowance[]> {
    return (this.#fromAhead(asks) ?? (await this.#reserve(asks))).map((answer) => this.#own(answer));
  }

  /** What was taken ahead serves small asks that it covers. */
  #fromAhead(asks: readonly Ask[]): readonly Allowance[] | undefined {
    const { slots = [], use = 'express', until = 0 } = this.#ahead ?? {};
    const [now, count] = [this.#now(), countOf(asks)];
    if (count >= FULL || now >= until || rank(leastOf(asks)) > rank({ use })) return undefined;
    const old = slots.filter((slot) => slot < now - KEPT_MS.single).length;
    // Of all workers half a second's: with as much that the budget keeps, that is what SES forgives.
    const rate = plannedRate(this.#view ?? {}, this.#deps.policy, now);
    const most = Math.floor((rate * KEPT_MS.single) / 1_000 / this.#deps.workers);
    const left = slots.slice(Math.max(0, old - most));
    if (count > left.length) return undefined;
    this.#unused += slots.length - left.length;
    this.#ahead = { slots: left, use, until };
    return asks.map((ask) => ({ slots: left.splice(0, ask.count), waits: [] }));
  }

  #dropAhead(): void {
    this.#unused += this.#ahead?.slots.length ?? 0;
    this.#ahead = undefined;
  }

  async #reserve(asks: readonly Ask[]): Promise<readonly Allowance[]> {
    if (this.#now() < this.#aloneUntil) return this.#reserveAlone(asks);
    try {
      const until = this.#now() + RESERVE_MS;
      const view = await this.#current(asks, until);
      return await this.#reserveFrom(view, asks, until);
    } catch (error) {
      this.#aloneUntil = this.#now() + ALONE_MS;
      this.#deps.onFault?.(error);
      return this.#reserveAlone(asks);
    }
  }

  /**
   * Sends per second while an outage lasts: not what a refusal lowers for a minute, nor what was seen before the account's
   * limits were known, by which a line of 250,000 drained at a tenth of its rate. Never rejects.
   */
  async lastingPerSecond(): Promise<number | undefined> {
    await this.#try(() => this.#deps.store.read(this.#deps.channel));
    return this.#view && plannedRate(this.#view, this.#deps.policy, this.#now() + RECOVERY_MS);
  }

  /** The provider refused an attempt because one of the account's limits is reached. Never rejects. */
  async exceeded(limit: ExceededLimit): Promise<void> {
    const now = this.#now();
    this.#dropAhead();
    const steps = limit === 'rate' ? loweringSteps(this.#view ?? {}, now) : exhaustedSteps(now);
    await this.#try(async () => (await this.#deps.store.change(this.#deps.channel, steps)).registers);
  }

  async #reserveFrom(start: Registers, asks: readonly Ask[], until: number): Promise<readonly Allowance[]> {
    let view = start;
    this.#dropAhead();
    const least = leastOf(asks);
    const isSmall = least.lane !== undefined && countOf(asks) < FULL;
    const ahead: Ask[] = isSmall ? [{ use: least.use, count: AHEAD, ahead: true }] : [];
    for (let tries = 1; ; tries++) {
      const { policy, random, store, channel } = this.#deps;
      const now = this.#now();
      if (now > until) throw new Error('A reservation took too long: storage answers slowly.');
      const refuse = tries > TRIES && ({ refuse: true } as const);
      const unused = this.#unused;
      const plan = planReservation(view, [...asks, ...ahead], { now, policy, random, unused, ...refuse });
      const answersOf = (after: Registers) => {
        const answers = plan.allowances(after);
        return { answers: answers.slice(0, asks.length), slots: answers[asks.length]?.slots ?? [] };
      };
      if (plan.steps.length === 0) {
        const { answers } = answersOf(view);
        const isForLong = answers.some(({ why }) => why === 'quota' || why === 'account');
        if (!isForLong || this.#now() - this.#viewedAt <= FRESH_MS) return answers;
        view = this.#learn(await store.read(channel));
        continue;
      }
      const { applied: done, registers } = await store.change(channel, plan.steps);
      view = this.#learn(registers);
      if (!done) continue;
      const { answers, slots } = answersOf(view);
      if (slots.length > 0) this.#ahead = { slots, use: least.use, until: now + AHEAD_MS };
      if (plan.granted > 0) this.#unused -= unused;
      return answers;
    }
  }

  /** While storage fails, each worker takes its part of the rate and goes on: failing open, as slowly as is safe. */
  #reserveAlone(asks: readonly Ask[]): readonly Allowance[] {
    const { policy, random, workers } = this.#deps;
    const now = this.#now();
    const fallback_per_second = plannedRate(this.#view ?? {}, policy, now) / workers;
    const plan = planReservation(this.#alone, asks, { now, policy: { ...policy, fallback_per_second }, random });
    this.#alone = applied(this.#alone, plan.steps) ?? this.#alone;
    return plan.allowances(this.#alone);
  }

  /** What is known of the registers, after the account's limits were read if they had to be. */
  async #current([ask]: readonly Ask[], until: number): Promise<Registers> {
    const { store, channel, readLimits } = this.#deps;
    const isOld = ask?.lane !== undefined && this.#now() - this.#viewedAt >= VIEW_MS;
    const view = isOld || this.#view === undefined ? this.#learn(await store.read(channel)) : this.#view;
    if (readLimits === undefined || !this.#isStale(view)) return view;
    return this.#refresh(view, readLimits, until);
  }

  #isStale(view: Registers): boolean {
    const account = accountIn(view);
    if (account === undefined) return true;
    const { policy } = this.#deps;
    const quota = dailyQuota(view, policy) ?? Infinity;
    const isShort = account.sent_24h + account.granted > IN_NEED * quota;
    // Of a small quota newsletters have none before most of it is used.
    const inNeed = isShort || isStopped(account) || roomFor('newsletter', view, policy, this.#now()).left < 1;
    return this.#now() - account.read_at > (inNeed ? TRUSTED_IN_NEED_MS : TRUSTED_MS);
  }

  /** One worker at a time asks the provider. The others go on with what is known. */
  async #refresh(view: Registers, readLimits: () => Promise<AccountLimits>, until: number): Promise<Registers> {
    const { store, channel, policy } = this.#deps;
    const now = this.#now();
    if ((numberIn(view, 'reading_until') ?? 0) > now) return view;
    const lease = await store.change(channel, [
      { name: 'reading_until', set: now + LEASE_MS, guard: { at_most: now, or_absent: true } },
      clockStep(now),
    ]);
    const known = this.#learn(lease.registers);
    if (!lease.applied || !this.#isStale(known) || this.#now() > until) return known;
    const counted = Math.max(0, numberIn(known, 'granted') ?? 0);
    const limits = await readLimits().catch((error: unknown) => void this.#deps.onFault?.(error));
    if (limits === undefined) return known;
    return this.#learn(
      (await store.change(channel, limitsSteps(known, limits, { counted, read_at: now, policy }))).registers,
    );
  }

  async #try(call: () => Promise<Registers>): Promise<void> {
    try {
      this.#learn(await call());
    } catch (error) {
      this.#deps.onFault?.(error);
    }
  }

  #learn(registers: Registers): Registers {
    this.#clock.learn(registers);
    this.#view = registers;
    this.#viewedAt = this.#now();
    return registers;
  }

  #now(): number {
    return this.#clock.now();
  }

  /** By this worker's own clock, by which it waits. */
  #own({ slots, waits, ...rest }: Allowance): Allowance {
    const own = (at: number) => this.#clock.own(at);
    return { ...rest, slots: slots.map(own), waits: waits.map(own) };
  }
}
