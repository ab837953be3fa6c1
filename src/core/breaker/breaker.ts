import { LANES, type Lane } from '../model/channels.ts';
import type { ErrorType } from '../model/error-types.ts';
import { epochMs, isoAfter } from '../model/time.ts';
import type { BreakerPolicy } from './breaker-policy.ts';

/**
 * A line of held notifications: slot n is let go at `from` + n / drain rate. Each slot is given out once, and `from`
 * never goes back, so no two notifications of a line are closer than the drain rate allows.
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
  /** When it opened. */
  readonly since: string;
  /** The provider's last failure. */
  readonly error_type: ErrorType;
  /** From the last failure to the next probe. */
  readonly interval_ms: number;
  /** While open: no worker sends before this time, except the one that makes the probe. */
  readonly probe_at: string;
  /** While draining: when the lines are empty. */
  readonly drained_at?: string;
  /** Slots given out before the breaker opened. */
  readonly slots_before: number;
  readonly lines: Readonly<Record<Lane, Line>>;
}

/** The time of a transition, and the policy. */
export interface TransitionContext {
  readonly now: Date;
  readonly policy: BreakerPolicy;
}

/** The state to act on: a breaker whose lines are empty is closed, even if no worker has written that yet. */
export function phaseOf(breaker: Breaker | undefined, now: Date): Breaker['state'] {
  if (breaker === undefined) return 'closed';
  const drained = breaker.state === 'draining' && epochMs(breaker.drained_at ?? breaker.probe_at) <= now.getTime();
  return drained ? 'closed' : breaker.state;
}

/** @param before the breaker before; a provider that fails again while its lines are let go is probed less often */
export function opened(
  { id, error_type }: Pick<Breaker, 'id' | 'error_type'>,
  before: Breaker | undefined,
  context: TransitionContext,
): Breaker {
  const { now, policy } = context;
  if (before !== undefined && phaseOf(before, now) === 'draining') return reopened(before, error_type, context);
  const empty = { from: new Date(0).toISOString(), slots: 0 };
  const lines = before?.lines ?? { express: empty, standard: empty };
  return postponed(
    {
      id,
      state: 'open',
      version: before?.version ?? 0,
      since: now.toISOString(),
      error_type,
      interval_ms: policy.interval_ms,
      probe_at: now.toISOString(),
      slots_before: slotsGiven(lines),
      lines,
    },
    policy.interval_ms,
    context,
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

/** The probe failed, or the provider failed again while the lines were let go. */
export function reopened(breaker: Breaker, error_type: ErrorType, context: TransitionContext): Breaker {
  const interval_ms = Math.min(breaker.interval_ms * 2, context.policy.max_interval_ms);
  const { drained_at: _, ...open } = breaker;
  return postponed({ ...open, state: 'open', error_type, interval_ms }, interval_ms, context);
}

/** The probe did not reach the provider: the next notification makes it. */
export function returned(breaker: Breaker, now: Date): Breaker {
  return { ...breaker, version: breaker.version + 1, probe_at: now.toISOString() };
}

/** The provider answered. */
export function draining(breaker: Breaker, { now, policy }: TransitionContext): Breaker {
  const ends = LANES.map((lane) => slotTime(breaker.lines[lane], breaker.lines[lane].slots, policy));
  const drained_at = new Date(Math.max(now.getTime(), ...ends)).toISOString();
  return { ...breaker, state: 'draining', version: breaker.version + 1, drained_at };
}

export function closed(breaker: Breaker): Breaker {
  return { ...breaker, state: 'closed', version: breaker.version + 1 };
}

/** When a slot of the line is let go, in epoch milliseconds. */
export function slotTime({ from }: Line, slot: number, policy: BreakerPolicy): number {
  return epochMs(from) + Math.ceil((slot * 1000) / policy.drain_per_second);
}

/** Attempts held since the breaker opened. */
export function heldSince({ lines, slots_before }: Breaker): number {
  return slotsGiven(lines) - slots_before;
}

function slotsGiven({ express, standard }: Breaker['lines']): number {
  return express.slots + standard.slots;
}

/** Moves the probe, and all slots given out from now on, past the interval. */
function postponed(breaker: Breaker, interval_ms: number, { now, policy }: TransitionContext): Breaker {
  const until = now.getTime() + interval_ms;
  const moved = ({ from, slots }: Line): Line => ({
    from: new Date(Math.max(epochMs(from), until - Math.floor((slots * 1000) / policy.drain_per_second))).toISOString(),
    slots,
  });
  const { express, standard } = breaker.lines;
  return {
    ...breaker,
    version: breaker.version + 1,
    probe_at: new Date(until).toISOString(),
    lines: { express: moved(express), standard: moved(standard) },
  };
}
