import type { Channel, Lane } from '../model/channels.ts';
import type { Clock } from '../model/time.ts';
import { LOOK_AHEAD_MS, PLANNED_SHARE } from './pacing-policy.ts';
import type { Allowance } from './plan-reservation.ts';
import { isTaken, planSlots, type Slot, type SlotAsk } from './receiver-slots.ts';
import { applied, clockStep, numberIn, type PacingStore, type Registers, SharedClock, type Step } from './registers.ts';

export interface ReceiverAsk extends SlotAsk {
  readonly key: string;
  readonly per_second: number;
  /** The slot that the message was given when it was held, epoch milliseconds. */
  readonly slot?: number;
  /** The receiver refused the message for its rate when it was tried last. */
  readonly refused?: true;
}

export interface ReceiverPacerDeps {
  readonly store: PacingStore;
  readonly channel: Channel;
  readonly clock: Clock;
  /** How many workers share the budgets at most: what each takes alone while storage fails. */
  readonly workers: number;
  /** Storage failed; deliveries go on. */
  readonly onFault?: (error: unknown) => void;
}

interface Known {
  /** Until when each message is reserved. */
  busy_until: number;
  view?: Registers;
  viewed_at: number;
  /** What it takes by itself while storage fails. */
  alone?: Registers;
  /** Slots that were reserved for those who will have to wait next, ascending, of which tenant, and when one had to last. */
  ahead: readonly number[];
  ahead_of?: string | undefined;
  waited_at: number;
}

/** How often a reservation is tried while other workers are faster. */
const TRIES = 5;
/** Rest after a failure of storage: each try could take seconds of a batch's time. */
const ALONE_MS = 5_000;
/** How long every worker reserves everything after a refusal for the rate. */
const LIMITED_MS = 60_000;
/**
 * A message that comes later than this after its slot has lost it: many would come at once after a standstill. The slot
 * was given by another worker's clock, from which this one may differ by five seconds.
 */
const LATE_MS = 8_000;
/** A view that is older is read again: a write that fails for an old view costs twice as much as a read. */
const VIEW_MS = 1_000;
/** Most receivers that a worker remembers, to bound its memory. */
const MAX_KNOWN = 10_000;
/** How long the item of a receiver is kept after its last slot. */
const KEPT_MS = 3_600_000;
/** Most slots that a message which has to wait reserves for the next ones, or a second's: an instance that dies wastes them. */
const AHEAD = 3;

/** While one of these registers is in the future, each message to the receiver is reserved. */
const USED_UNTIL = ['limited_until', 'blocked_until', 'express', 'standard'];

const keptUntil = (at: number): Step => ({ name: 'expires_at', set: Math.ceil((at + KEPT_MS) / 1000) });

/**
 * The budgets of a channel's receivers as one worker uses them. A message is reserved where it can matter: this worker
 * has sent to the receiver within its interval, others reserve for it now, or it has limited one of them within a minute.
 * Otherwise the worker only reads that (docs/decisions/delivery/pacing-of-receivers.md).
 */
export class ReceiverPacer {
  readonly #deps: ReceiverPacerDeps;
  readonly #clock: SharedClock;
  readonly #receivers = new Map<string, Known>();
  #aloneUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: ReceiverPacerDeps) {
    this.#deps = deps;
    this.#clock = new SharedClock(deps.clock);
  }

  /** Reserves for a batch. Never rejects. @returns the answers in the order of the asks */
  async reserve(asks: readonly ReceiverAsk[]): Promise<readonly Allowance[]> {
    const slots = new Map<ReceiverAsk, Slot>();
    await Promise.all(
      [...Map.groupBy(asks, ({ key }) => key)].map(([key, group]) => this.#reserveAt(key, group, slots)),
    );
    return asks.map((ask) => {
      const { at = this.#clock.now(), wait = false } = slots.get(ask) ?? {};
      const own = this.#clock.own(at);
      return wait ? { slots: [], waits: [own], why: 'rate' } : { slots: [own], waits: [] };
    });
  }

  /** The receiver takes nothing before this time, in epoch milliseconds. Never rejects. */
  async blocked(key: string, until: number): Promise<void> {
    const [now, at] = [this.#clock.now(), this.#clock.shared(until)];
    this.#busyUntil(key, Math.max(at, now + LIMITED_MS));
    const limited = now + LIMITED_MS;
    this.#of(key).ahead = this.#of(key).ahead.filter((slot) => slot > at);
    const steps: Step[] = [
      { name: 'limited_until', set: limited },
      // Before others have read of so short a time, it is over.
      ...(at - now <= LOOK_AHEAD_MS.receiver
        ? []
        : [{ name: 'blocked_until', set: at, guard: { at_most: at, or_absent: true } } as const]),
    ];
    await this.#orAlone(() => this.#change(key, [...steps, keptUntil(Math.max(at, limited))]));
  }

  async #reserveAt(key: string, group: readonly ReceiverAsk[], slots: Map<ReceiverAsk, Slot>): Promise<void> {
    const allowed = 1000 / (group[0]?.per_second ?? 1);
    const interval = allowed / PLANNED_SHARE;
    await this.#keep(key, interval, group, slots);
    const now = this.#clock.now();
    const rest = group.filter((ask) => !slots.has(ask) && !this.#giveAhead(key, ask, slots));
    const isLimited = rest.some(({ slot, refused }) => slot !== undefined || refused);
    const ownSuffices = rest.length === group.length && rest.length === 1 && !isLimited;
    if (rest.length > 0 && !(ownSuffices && now >= this.#of(key).busy_until && (await this.#isIdle(key)))) {
      const booked =
        (await this.#orAlone(() => this.#book(key, interval, rest))) ?? this.#bookAlone(key, interval, rest);
      rest.forEach((ask, i) => {
        const slot = booked[i];
        if (slot !== undefined) slots.set(ask, slot);
      });
    }
    this.#busyUntil(key, Math.max(now, ...group.map((ask) => slots.get(ask)?.at ?? 0)) + allowed);
  }

  /** Whether it is known that nobody reserves for the receiver now: it took all that it was sent lately. */
  async #isIdle(key: string): Promise<boolean> {
    const { view, viewed_at } = this.#of(key);
    const isFresh = view !== undefined && this.#clock.now() - viewed_at < VIEW_MS;
    const known = isFresh ? view : await this.#orAlone(() => this.#read(key));
    // Others may use what cannot be read.
    return known !== undefined && USED_UNTIL.every((name) => (numberIn(known, name) ?? 0) <= this.#clock.now());
  }

  /** The slots that were given before stay, unless the receiver has refused since, or what is more urgent took them. */
  async #keep(
    key: string,
    interval: number,
    group: readonly ReceiverAsk[],
    slots: Map<ReceiverAsk, Slot>,
  ): Promise<void> {
    const now = this.#clock.now();
    const held = group
      .map((ask) => ({ ask, at: this.#clock.shared(ask.slot ?? 0) }))
      .filter(({ at }) => now <= at + LATE_MS);
    if (held.length === 0) return;
    const registers = (await this.#orAlone(() => this.#read(key))) ?? {};
    if ((numberIn(registers, 'blocked_until') ?? 0) > now) return;
    for (const { ask, at } of held)
      if (!isTaken(ask.lane, at, registers, interval)) slots.set(ask, { at, wait: false });
  }

  /**
   * The first of the slots that were reserved ahead, while it is far enough to be held for: then it is read again whether
   * express took it, or the receiver refused. A nearer one would be used unseen.
   */
  #giveAhead(key: string, ask: ReceiverAsk, slots: Map<ReceiverAsk, Slot>): boolean {
    const now = this.#clock.now();
    const known = this.#of(key);
    const far = now + LOOK_AHEAD_MS.receiver;
    const isIts = ask.lane === 'standard' && ask.tenant === known.ahead_of;
    const [at, ...ahead] = isIts ? known.ahead.filter((slot) => slot > far) : [];
    if (at === undefined) return false;
    slots.set(ask, { at, wait: true });
    Object.assign(known, { ahead, waited_at: now });
    return true;
  }

  /** As many as will be given away in half the time until they come, if this worker is asked as often as lately. */
  #following(key: string, line: Registers, interval: number): readonly { readonly lane: Lane }[] {
    const now = this.#clock.now();
    const wait = (numberIn(line, 'standard') ?? 0) - now;
    const given = Math.floor(wait / 2 / Math.max(1, now - this.#of(key).waited_at));
    const most = Math.max(AHEAD, Math.floor(1_000 / interval));
    return Array.from({ length: Math.max(0, Math.min(given, most)) }, () => ({ lane: 'standard' }));
  }

  async #book(key: string, interval: number, asks: readonly ReceiverAsk[]): Promise<Slot[]> {
    const { view, viewed_at } = this.#of(key);
    let known = view !== undefined && this.#clock.now() - viewed_at < VIEW_MS ? view : await this.#read(key);
    // What comes in full batches shares its reservation anyway.
    const waits = asks.length <= AHEAD && asks.some(({ lane }) => lane === 'standard');
    for (let tries = 1; tries <= TRIES; tries++) {
      const following = waits ? this.#following(key, known, interval) : [];
      const plan = planSlots(known, [...asks, ...following], { now: this.#clock.now(), interval });
      const { applied: done, registers } = await this.#change(key, [...plan.steps, keptUntil(plan.end)]);
      known = registers;
      if (!done) continue;
      const slots = plan.slots(registers);
      const ahead = slots.slice(asks.length).map(({ at }) => at);
      if (waits) Object.assign(this.#of(key), { ahead, ahead_of: asks[0]?.tenant, waited_at: this.#clock.now() });
      return slots;
    }
    throw new Error('A reservation was tried too often: other workers are faster.');
  }

  /** While storage fails, each worker takes its part of the rate and goes on: failing open, as slowly as is safe. */
  #bookAlone(key: string, interval: number, asks: readonly ReceiverAsk[]): Slot[] {
    const known = this.#of(key);
    const alone = known.alone ?? {};
    const plan = planSlots(alone, asks, { now: this.#clock.now(), interval: interval * this.#deps.workers });
    known.alone = applied(alone, plan.steps) ?? alone;
    return plan.slots(known.alone);
  }

  async #read(key: string): Promise<Registers> {
    return this.#learn(key, await this.#deps.store.read(`${this.#deps.channel}#${key}`));
  }

  async #change(key: string, steps: readonly Step[]) {
    const { store, channel } = this.#deps;
    const answer = await store.change(`${channel}#${key}`, [...steps, clockStep(this.#clock.now())]);
    this.#learn(key, answer.registers);
    return answer;
  }

  #learn(key: string, view: Registers): Registers {
    this.#clock.learn(view);
    Object.assign(this.#of(key), { view, viewed_at: this.#clock.now() });
    return view;
  }

  /** @returns undefined while storage fails */
  async #orAlone<T>(call: () => Promise<T>): Promise<T | undefined> {
    if (this.#clock.now() < this.#aloneUntil) return undefined;
    try {
      return await call();
    } catch (error) {
      this.#aloneUntil = this.#clock.now() + ALONE_MS;
      this.#deps.onFault?.(error);
      return undefined;
    }
  }

  #busyUntil(key: string, until: number): void {
    const known = this.#of(key);
    known.busy_until = Math.max(known.busy_until, until);
  }

  #of(key: string): Known {
    const known = this.#receivers.get(key) ?? { busy_until: 0, viewed_at: 0, ahead: [], waited_at: 0 };
    if (this.#receivers.size >= MAX_KNOWN && !this.#receivers.has(key)) this.#receivers.clear();
    this.#receivers.set(key, known);
    return known;
  }
}
