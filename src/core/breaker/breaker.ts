import { LANES, type Lane } from '../model/channels.ts';
import type { ErrorType } from '../model/error-types.ts';
import { epochMs, isoAfter } from '../model/time.ts';
import { type BreakerPolicy, DEFAULT_BREAKER_POLICY } from './breaker-policy.ts';

/**
 * A line of held notifications: slot n is let go at `from` + n / rate. Each slot is given out once, and the next slot
 * never goes back in time, so no two notifications of a line are closer than its rate allows.
 */
export interface Line {
  /** ISO-8601 UTC. */
  readonly from: string;
  /** All slots given out so far. */
  readonly slots: number;
}

/** The shared state of a provider that is down, or was until a moment ago. A provider without a breaker is up. */
export interface Breaker {
  /** As providerKey gives it. */
  readonly id: string;
  /** `draining`: the provider is back, and the lines are let go; `closed`: the same as no breaker. */
  readonly state: 'open' | 'draining' | 'closed';
  /** Number of the newest transition; exactly one worker makes each transition. */
  readonly version: number;
  readonly since: string;
  /** When it was last found to be down, also while its lines were let go. */
  readonly down_since: string;
  /** The provider's last failure. */
  readonly error_type: ErrorType;
  /** From the last failure to the next probe. */
  readonly interval_ms: number;
  /** While open: no worker sends before this time, except the one that makes the probe. */
  readonly probe_at: string;
  /** While draining: when the lines are empty. */
  readonly drained_at?: string;
  /** Slots of a line per second. */
  readonly per_second: number;
  /** The largest rate at which slots were given out since it opened. */
  readonly peak_per_second?: number;
  /** While draining: when the provider answered. */
  readonly draining_since?: string;
  /** Slots given out before the breaker opened. */
  readonly slots_before: number;
  /** All slots given out when the slots were last moved past an interval. */
  readonly slots_at_interval?: number;
  /** Slots given out in the interval before that. */
  readonly slots_last_interval: number;
  readonly lines: Readonly<Record<Lane, Line>>;
  /** Of how many days down operators were told last, of an outage that began at `since`; no transition writes it. */
  readonly noted?: { readonly since: string; readonly days: number; readonly waiting?: number };
}

export interface TransitionContext {
  readonly now: Date;
  readonly policy: BreakerPolicy;
}

/** The state to act on: a breaker whose lines are empty is closed, even if no worker has written that yet. */
export function phaseOf(breaker: Breaker, now: Date): Breaker['state'] {
  const drained = breaker.state === 'draining' && epochMs(breaker.drained_at ?? breaker.probe_at) <= now.getTime();
  return drained ? 'closed' : breaker.state;
}

/**
 * `per_second` is the provider's budget, where one is known.
 * @param before the breaker before; a provider that fails again while its lines are let go is probed less often
 */
export function opened(
  { id, error_type, per_second }: Pick<Breaker, 'id' | 'error_type'> & Partial<Pick<Breaker, 'per_second'>>,
  before: Breaker | undefined,
  context: TransitionContext,
): Breaker {
  const { now, policy } = context;
  if (before !== undefined && phaseOf(before, now) === 'draining') return reopened(before, error_type, context);
  const empty = { from: new Date(0).toISOString(), slots: 0 };
  const lines = before?.lines ?? { express: empty, standard: empty };
  const rate = per_second ?? policy.most_per_second;
  return postponed(
    {
      // The lines go on where they ended.
      per_second: lineRate(before, policy),
      id,
      state: 'open',
      version: before?.version ?? 0,
      since: now.toISOString(),
      down_since: now.toISOString(),
      error_type,
      interval_ms: policy.interval_ms,
      probe_at: now.toISOString(),
      slots_before: slotsGiven(lines),
      slots_last_interval: 0,
      lines,
    },
    policy.interval_ms,
    context,
    rate,
  );
}

/**
 * A worker makes the probe; no other worker does before its lease ends. Until then, notifications are held as if the
 * probe had failed.
 * @param lease_ms longer than the attempt can take
 */
export function probing(breaker: Breaker, lease_ms: number, context: TransitionContext): Breaker {
  return { ...postponed(breaker, breaker.interval_ms, context), probe_at: isoAfter(context.now, lease_ms) };
}

/** A failure of a probe, or of the provider while the lines were let go: then it gets half of that from now on. */
export function reopened(breaker: Breaker, error_type: ErrorType, context: TransitionContext): Breaker {
  const { policy } = context;
  const interval_ms = nextInterval(breaker, context);
  const { drained_at: _, draining_since: __, ...open } = breaker;
  const rate = lineRate(breaker, policy);
  const failed = breaker.state === 'draining' ? Math.min(rate, startedRate(breaker, context)) / 2 : rate;
  const next = Math.min(rate, Math.max(policy.drain_per_second, failed));
  const fell = breaker.state === 'draining' && { down_since: context.now.toISOString() };
  return postponed({ ...open, ...fell, state: 'open', error_type, interval_ms }, interval_ms, context, next);
}

/**
 * A failed probe doubles the interval: a short line comes round once per interval, and each round costs writes. A line
 * that is longer than the longest interval brings notifications all the time, so a probe each shortest interval costs
 * one attempt, and the drain begins earlier (docs/decisions/delivery/breaker.md#0137).
 */
function nextInterval(breaker: Breaker, { now, policy }: TransitionContext): number {
  const { state, interval_ms, lines } = breaker;
  const rate = lineRate(breaker, policy);
  const ends = Math.max(...LANES.map((lane) => slotTime(lines[lane], lines[lane].slots, rate)));
  if (state === 'open' && ends > now.getTime() + policy.max_interval_ms) return policy.interval_ms;
  return Math.min(interval_ms * 2, policy.max_interval_ms);
}

/** The probe did not reach the provider: the next notification makes it. */
export function returned(breaker: Breaker, now: Date): Breaker {
  return { ...breaker, version: breaker.version + 1, probe_at: now.toISOString() };
}

/** The provider answered. */
export function draining(breaker: Breaker, { now, policy }: TransitionContext): Breaker {
  const rate = lineRate(breaker, policy);
  const ends = LANES.map((lane) => slotTime(breaker.lines[lane], breaker.lines[lane].slots, rate));
  const drained_at = new Date(Math.max(now.getTime(), ...ends)).toISOString();
  const draining_since = now.toISOString();
  return { ...breaker, state: 'draining', version: breaker.version + 1, drained_at, draining_since };
}

export function closed(breaker: Breaker): Breaker {
  return { ...breaker, state: 'closed', version: breaker.version + 1 };
}

/** When a slot of the line is let go, in epoch milliseconds. */
export function slotTime({ from }: Line, slot: number, per_second: number): number {
  return epochMs(from) + Math.ceil((slot * 1000) / per_second);
}

/** What is held comes back within this time after its slot, also by a sweep. */
const COMES_BACK_MS = 3_600_000;

/**
 * The state as it is told to operators: an open breaker that nothing comes to is not down for anybody. It stays open for
 * the next notification, which probes, but counted as open it would ring for two days.
 */
export function shownPhaseOf(breaker: Breaker, now: Date): Breaker['state'] {
  const { lines, probe_at } = breaker;
  const rate = lineRate(breaker, DEFAULT_BREAKER_POLICY);
  const last = Math.max(epochMs(probe_at), ...LANES.map((lane) => slotTime(lines[lane], lines[lane].slots, rate)));
  const phase = phaseOf(breaker, now);
  return phase === 'open' && last + COMES_BACK_MS < now.getTime() ? 'closed' : phase;
}

/** Slots of each line per second. */
export function lineRate(breaker: Breaker | undefined, policy: BreakerPolicy): number {
  return breaker?.per_second ?? policy.drain_per_second;
}

/** How long a provider that is back takes until it gets twice as much. */
export const DOUBLES_EVERY_MS = 5_000;

/** Slow start: what a draining provider gets per second by now, however fast its lines are. */
export function startedRate({ draining_since }: Breaker, { now, policy }: TransitionContext): number {
  if (draining_since === undefined) return Number.POSITIVE_INFINITY;
  const elapsed = Math.max(0, now.getTime() - epochMs(draining_since));
  return policy.drain_per_second * 2 ** (elapsed / DOUBLES_EVERY_MS);
}

/** When slow start reaches the rate of the lines, in epoch milliseconds. */
export function startedAt(breaker: Breaker, { now, policy }: TransitionContext): number {
  const doublings = Math.max(0, Math.log2(lineRate(breaker, policy) / policy.drain_per_second));
  return epochMs(breaker.draining_since ?? now.toISOString()) + doublings * DOUBLES_EVERY_MS;
}

export const heldSince = ({ lines, slots_before }: Breaker): number => slotsGiven(lines) - slots_before;

/** About how many are held: those of a line that come round in an interval. */
export function heldNow({ lines, slots_at_interval = 0, slots_last_interval }: Breaker): number {
  return slots_last_interval + slotsGiven(lines) - slots_at_interval;
}

const slotsGiven = ({ express, standard }: Breaker['lines']): number => express.slots + standard.slots;

/** Moves the probe, and all slots given out from now on, past the interval. @param rate of the lines from now on */
function postponed(
  breaker: Breaker,
  interval_ms: number,
  { now, policy }: TransitionContext,
  rate: number = lineRate(breaker, policy),
): Breaker {
  const until = now.getTime() + interval_ms;
  const before = lineRate(breaker, policy);
  const moved = (line: Line): Line => {
    const next = Math.max(slotTime(line, line.slots, before), until);
    return { from: new Date(next - Math.floor((line.slots * 1000) / rate)).toISOString(), slots: line.slots };
  };
  const { express, standard } = breaker.lines;
  return {
    ...breaker,
    per_second: rate,
    peak_per_second: Math.max(rate, breaker.peak_per_second ?? 0),
    version: breaker.version + 1,
    probe_at: new Date(until).toISOString(),
    slots_at_interval: slotsGiven(breaker.lines),
    slots_last_interval: slotsGiven(breaker.lines) - (breaker.slots_at_interval ?? breaker.slots_before),
    lines: { express: moved(express), standard: moved(standard) },
  };
}
