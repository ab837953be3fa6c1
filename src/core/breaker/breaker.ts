import { LANES, type Lane } from '../model/channels.ts';
import type { ErrorType } from '../model/error-types.ts';
import { epochMs, isoAfter } from '../model/time.ts';
import type { BreakerPolicy } from './breaker-policy.ts';

/**
 * A line of held notifications: slot n is let go at `from` + n / drain rate. Slots are only ever given out once, and
 * `from` never goes back, so that no two of a line are nearer to each other than the drain rate allows.
 */
export interface Line {
  /** ISO-8601 UTC. */
  readonly from: string;
  /** Slots given out, ever. */
  readonly slots: number;
}

/** What all workers know of a provider that is down, or was until a moment ago. Where there is none, it is up. */
export interface Breaker {
  /** As providerKey gives it. */
  readonly id: string;
  /** `draining`: the provider is back, and the line is let go; `closed`: as if there were none. */
  readonly state: 'open' | 'draining' | 'closed';
  /** Number of its newest transition; each is made by exactly one worker. */
  readonly version: number;
  /** When it opened. */
  readonly since: string;
  /** What the provider failed with last. */
  readonly error_type: ErrorType;
  /** From the last failure to the next probe. */
  readonly interval_ms: number;
  /** While open: nobody sends before, except who won the probe. */
  readonly probe_at: string;
  /** While draining: when the lines are empty. */
  readonly drained_at?: string;
  /** Slots given out before it opened. */
  readonly slots_before: number;
  readonly lines: Readonly<Record<Lane, Line>>;
}

/** As it is to be treated: when the lines are empty, it is closed, though nobody may have written that yet. */
export function phaseOf(breaker: Breaker | undefined, now: Date): Breaker['state'] {
  if (breaker === undefined) return 'closed';
  const drained = breaker.state === 'draining' && epochMs(breaker.drained_at ?? breaker.probe_at) <= now.getTime();
  return drained ? 'closed' : breaker.state;
}

/** @param before the breaker as it was; a provider that fails again while its lines are let go is probed less often. */
export function opened(
  id: string,
  before: Breaker | undefined,
  error_type: ErrorType,
  now: Date,
  policy: BreakerPolicy,
): Breaker {
  if (before !== undefined && phaseOf(before, now) === 'draining') return reopened(before, error_type, now, policy);
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
    now,
    policy.interval_ms,
    policy,
  );
}

/**
 * A worker makes the probe; nobody else does before its lease is over. Who comes meanwhile is put off as if it had failed.
 * @param lease_ms longer than the attempt can take
 */
export function probing(breaker: Breaker, now: Date, lease_ms: number, policy: BreakerPolicy): Breaker {
  return { ...postponed(breaker, now, breaker.interval_ms, policy), probe_at: isoAfter(now, lease_ms) };
}

/** The probe failed, or the provider failed again while the lines were let go. */
export function reopened(breaker: Breaker, error_type: ErrorType, now: Date, policy: BreakerPolicy): Breaker {
  const interval_ms = Math.min(breaker.interval_ms * 2, policy.max_interval_ms);
  const { drained_at: _, ...open } = breaker;
  return postponed({ ...open, state: 'open', error_type, interval_ms }, now, interval_ms, policy);
}

/** The probe was not made after all: the next notification makes it. */
export function returned(breaker: Breaker, now: Date): Breaker {
  return { ...breaker, version: breaker.version + 1, probe_at: now.toISOString() };
}

/** The provider answered. */
export function draining(breaker: Breaker, now: Date, policy: BreakerPolicy): Breaker {
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

/** Attempts put off since it opened. */
export function heldSince({ lines, slots_before }: Breaker): number {
  return slotsGiven(lines) - slots_before;
}

function slotsGiven({ express, standard }: Breaker['lines']): number {
  return express.slots + standard.slots;
}

/** No probe, and no slot that is given out from now on, before the interval is over. */
function postponed(breaker: Breaker, now: Date, interval_ms: number, policy: BreakerPolicy): Breaker {
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
