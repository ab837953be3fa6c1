import { LANES, type Lane } from '../model/channels.ts';
import { ceilingOf, plannedRate, roomFor, spendingSteps } from './account.ts';
import { KEPT_MS, LOOK_AHEAD_MS, type PacingPolicy, USES, type Use } from './pacing-policy.ts';
import { clockStep, numberIn, type Registers, type Step } from './registers.ts';

/** A wish for the allowance of the account that all e-mail goes through. */
export interface Ask {
  readonly count: number;
  readonly use: Use;
  /** The lane to which goes back what gets no slot. Absent: whoever asks waits by itself. */
  readonly lane?: Lane;
  /** For what will be asked for soon: only slots that the budget has kept, which nobody has to wait for. */
  readonly ahead?: true;
}

/** The answer to an ask: `slots` and `waits` together are `count` many. */
export interface Allowance {
  /** Epoch milliseconds of each send that is granted, ascending. */
  readonly slots: readonly number[];
  /** For each of the rest, when to ask again; never sooner, as nothing would be granted. */
  readonly waits: readonly number[];
  /** Why not all is granted: the rate, the daily quota, or an account that may not send. */
  readonly why?: 'rate' | 'quota' | 'account';
}

export interface PlanTerms {
  readonly now: number;
  readonly policy: PacingPolicy;
  readonly random: () => number;
  /** Grants nothing more: other workers were faster too often. */
  readonly refuse?: true;
  /** Of what this worker was granted, how many it has not used: they count as sent no more. */
  readonly unused?: number;
}

export interface ReservationPlan {
  readonly steps: readonly Step[];
  /** How many slots all asks get. */
  readonly granted: number;
  /** The answers, in the order of the asks, once the steps are applied. */
  allowances(after: Registers): Allowance[];
}

/** SQS delays a message by at most this. */
const LONGEST_DELAY_MS = 900_000;
/** Nearer to the quota than this nothing is taken ahead: what one worker does not use would be missing to the others. */
const QUOTA_KEPT = 300;
/** Messages come back a little faster than the rate, so that a late one leaves no slot unused. */
const RETURN_PACE = 1.25;
/** What a sum of times may be off by: ours are floating-point numbers, DynamoDB's are decimals. */
const ROUNDING_MS = 0.01;

interface Planned {
  readonly granted: number;
  /** Milliseconds from the budget's first slot of this plan to this ask's first one. */
  readonly offset: number;
  readonly interval: number;
  readonly waits: (after: Registers) => number[];
  readonly why?: Allowance['why'];
}

interface Booking {
  /** The first slot, if the view is up to date. */
  readonly start: number;
  readonly by: number;
  /** The latest first slot with which each use stays below its ceiling. */
  readonly latest: number;
}

/**
 * Plans which sends get a slot, from a view of the registers that may be old: guards hold what the plan relies on. Slots
 * of a budget are 1 / rate apart and are given out once, so whatever the clocks of the workers say, no stretch of time
 * has more slots than the rate allows. A use gets slots within its share of the look-ahead, so that a more important
 * use always finds some that are near.
 */
export function planReservation(view: Registers, asks: readonly Ask[], terms: PlanTerms): ReservationPlan {
  const plan = new Plan(view, terms);
  const ranked = asks.map((ask, index) => ({ ask, index })).sort((a, b) => rank(a.ask) - rank(b.ask));
  const planned = ranked.map(({ ask, index }) => ({ index, one: plan.add(ask) }));
  planned.sort((a, b) => a.index - b.index);
  return {
    steps: plan.steps(),
    granted: planned.reduce((sum, { one }) => sum + one.granted, 0),
    allowances: (after) => planned.map(({ one }) => allowanceOf(one, plan.firstSlot(after), after)),
  };
}

/** The most important use has the lowest. */
export const rank = ({ use }: Pick<Ask, 'use'>) => USES.indexOf(use);

/**
 * Below this, what goes back to its lane gets no slots yet: crumbs cost a write each. Half of what is given out ahead, but
 * no more than what newsletters cannot take, whose calls take any single slot: a lane would wait for more for ever.
 */
function crumbsOf({ lane }: Ask, ahead_ms: number, newsletters_ms: number, interval: number): number {
  if (lane === undefined) return 1;
  return Math.max(1, Math.floor(Math.min(ahead_ms / 2, ahead_ms - newsletters_ms) / interval));
}

/** Registers of the account: its next slot, and the end of a lane's line. */
const NEXT = 'next:account';
const lineName = (lane: Lane) => `line:account:${lane}`;

function allowanceOf({ granted, offset, interval, waits, why }: Planned, first: number, after: Registers): Allowance {
  return {
    slots: Array.from({ length: granted }, (_, i) => first + offset + i * interval),
    waits: waits(after),
    ...(why !== undefined && { why }),
  };
}

class Plan {
  readonly #view: Registers;
  readonly #terms: PlanTerms;
  #booking: Booking | undefined;
  readonly #lines = new Map<string, { readonly by: number; readonly free: number }>();
  #spent = 0;
  #spentAtMost: number | undefined;

  constructor(view: Registers, terms: PlanTerms) {
    this.#view = view;
    this.#terms = terms;
  }

  add(ask: Ask): Planned {
    const { now, policy } = this.#terms;
    const interval = 1000 / plannedRate(this.#view, policy, now);
    const booked = this.#booking?.by ?? 0;
    const room = roomFor(ask.use, this.#view, policy, now);
    const horizon = this.#horizon(ask);
    const first = this.#start(ask) + booked;
    const fitting = first >= horizon ? 0 : Math.floor((horizon - first) / interval - 1e-9) + 1;
    const left = Math.max(0, room.left - this.#spent - (ask.ahead ? QUOTA_KEPT : 0));
    const newsletters_ms = LOOK_AHEAD_MS.account * ceilingOf('newsletter', policy);
    const least = Math.min(ask.count, left, crumbsOf(ask, horizon - now, newsletters_ms, interval));
    const granted = this.#terms.refuse || fitting < least ? 0 : Math.max(0, Math.min(ask.count, fitting, left));
    if (granted > 0) this.#book(ask, granted, { interval, horizon, booked, room: room.left });
    const missing = ask.count - granted;
    const base = { granted, offset: booked, interval };
    if (missing === 0) return { ...base, waits: () => [] };
    if (granted === left && room.left !== Number.POSITIVE_INFINITY) {
      const until = room.why === undefined ? now + 60_000 : room.until;
      return { ...base, waits: () => Array.from({ length: missing }, () => until), why: room.why ?? 'quota' };
    }
    const free = Math.max(now, first + granted * interval - (horizon - now)) + Math.max(1, least - granted) * interval;
    return { ...base, waits: this.#queue(ask, missing, interval, free), why: 'rate' };
  }

  /** The first slot that this plan gets of the budget. */
  firstSlot(after: Registers): number {
    return (numberIn(after, NEXT) ?? this.#terms.now) - (this.#booking?.by ?? 0);
  }

  steps(): Step[] {
    const { now, unused = 0 } = this.#terms;
    const booking = this.#booking === undefined ? [] : [this.#bookingStep(this.#booking)];
    const spending = this.#spent > 0 ? spendingSteps(this.#spent - unused, this.#spentAtMost, now) : [];
    const steps = [...booking, ...spending, ...this.#lineSteps()];
    return steps.length === 0 ? [] : [...steps, clockStep(now)];
  }

  #start({ use }: Ask): number {
    const kept = use === 'newsletter' ? KEPT_MS.newsletter : KEPT_MS.single;
    return Math.max(this.#terms.now - kept, numberIn(this.#view, NEXT) ?? 0);
  }

  #horizon(ask: Ask): number {
    const { now, policy } = this.#terms;
    // Whoever waits in a line has use for all that is left.
    const waiting = LANES.some((lane) => (numberIn(this.#view, lineName(lane)) ?? 0) > now);
    if (ask.ahead && waiting) return Number.NEGATIVE_INFINITY;
    return ask.ahead ? now : now + LOOK_AHEAD_MS.account * ceilingOf(ask.use, policy);
  }

  #book(
    ask: Ask,
    granted: number,
    at: { readonly interval: number; readonly horizon: number; readonly booked: number; readonly room: number },
  ): void {
    const latest = at.horizon - at.booked - (granted - 1) * at.interval + ROUNDING_MS;
    this.#booking = {
      start: this.#booking?.start ?? this.#start(ask),
      by: at.booked + granted * at.interval,
      latest: Math.min(latest, this.#booking?.latest ?? latest),
    };
    this.#spent += granted;
    if (at.room === Number.POSITIVE_INFINITY) return;
    const granted_before = numberIn(this.#view, 'granted') ?? 0;
    const at_most = Math.max(0, granted_before) + at.room - this.#spent;
    this.#spentAtMost = Math.min(at_most, this.#spentAtMost ?? at_most);
  }

  /** An idle budget starts anew; one that is in use goes on where it is. */
  #bookingStep({ start, by, latest }: Booking): Step {
    const next = numberIn(this.#view, NEXT) ?? 0;
    return next < start
      ? { name: NEXT, set: start + by, guard: { at_most: start, or_absent: true } }
      : { name: NEXT, add: by, base: start, guard: { at_least: next - ROUNDING_MS, at_most: latest } };
  }

  /**
   * The rest of a lane stand in line: they come back when those before them have had their turn, so that not all come at
   * once, again and again; those of a batch together, so that they share a reservation again. A line that is longer than
   * SQS can delay takes no more: these come back at random.
   */
  #queue({ lane }: Ask, missing: number, interval: number, free: number): (after: Registers) => number[] {
    const { now, random } = this.#terms;
    if (lane === undefined) return () => Array.from({ length: missing }, () => free);
    const name = lineName(lane);
    const pace = interval / RETURN_PACE;
    if ((numberIn(this.#view, name) ?? 0) > now + LONGEST_DELAY_MS) {
      const turn = now + LONGEST_DELAY_MS * (2 / 3 + random() / 3);
      return () => Array.from({ length: missing }, () => turn);
    }
    const before = this.#lines.get(name) ?? { by: 0, free };
    this.#lines.set(name, { ...before, by: before.by + missing * pace });
    return (after) => {
      const { by = 0 } = this.#lines.get(name) ?? {};
      const begin = (numberIn(after, name) ?? before.free + by) - by + before.by;
      return Array.from({ length: missing }, () => begin + ((missing - 1) / 2) * pace);
    };
  }

  #lineSteps(): Step[] {
    return [...this.#lines].map(([name, { by, free }]) => {
      const end = numberIn(this.#view, name) ?? 0;
      return end < free ? { name, set: free + by } : { name, add: by, base: free };
    });
  }
}
