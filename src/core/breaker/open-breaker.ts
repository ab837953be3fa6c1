import type { Admission, Held, Refused, SendResult } from '../delivery/ports.ts';
import type { Priority } from '../model/channels.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import {
  type Breaker,
  DOUBLES_EVERY_MS,
  heldNow,
  lineRate,
  phaseOf,
  probing,
  reopened,
  returned,
  slotTime,
  startedAt,
  startedRate,
  type TransitionContext,
} from './breaker.ts';
import type { BreakerDeps, SharedBreakers } from './shared-breakers.ts';

/** Longest wait of a failed attempt for the others of its batch, so that all their outcomes decide together. */
export const BATCH_WAIT_MS = 3_000;

/** What passes a breaker that is not closed: a probe at a time while it is open, and slow start while it drains. */
export class OpenBreakers {
  readonly #breakers: SharedBreakers;
  readonly #deps: BreakerDeps;
  readonly #probes: Probes;

  constructor(breakers: SharedBreakers, deps: BreakerDeps) {
    this.#breakers = breakers;
    this.#deps = deps;
    this.#probes = new Probes(breakers, deps);
  }

  /** @returns undefined when the breaker turns out not to be open any more */
  async admit(breaker: Breaker, row: NotificationRow, named: boolean): Promise<Admission | undefined> {
    const { id } = breaker;
    const probe = this.#probes.underWay(id);
    if (probe !== undefined) {
      const isBack = await Promise.race([probe, this.#deps.pause(BATCH_WAIT_MS)]);
      return isBack === true ? undefined : hold(breaker, row, this.#breakers, this.#deps);
    }
    if (named && this.#probes.passesNamed(id)) return this.#sendProbe(id, this.#probes.beginNamed(id));
    return epochMs(breaker.probe_at) > this.#deps.clock().getTime()
      ? hold(breaker, row, this.#breakers, this.#deps)
      : this.#probe(breaker, row);
  }

  /**
   * Holds by slow start. That also covers a batch that has waited for a probe: all of it would go at once.
   * @returns undefined when the notification passes
   */
  startSlowly(breaker: Breaker, named: boolean): Held | undefined {
    const { clock, policy, random = Math.random } = this.#deps;
    const held = slowStart(breaker, { now: clock(), policy }, random);
    return held !== undefined && named && this.#probes.passesNamed(breaker.id) ? undefined : held;
  }

  /** Makes a probe, for whose answer the rest of the batch waits. @param end changes the breaker by the answer */
  #sendProbe(id: string, end: (result: SendResult) => Promise<void>): Admission {
    return {
      do: 'send',
      report: async (result) => {
        await end(result);
        return this.#breakers.excuses(id, result);
      },
    };
  }

  /** Makes the probe, unless another worker makes it first: then its breaker, as it is now, holds or sends. */
  async #probe(breaker: Breaker, row: NotificationRow): Promise<Admission | undefined> {
    const end = await this.#probes.begin(breaker);
    if (end !== undefined) return this.#sendProbe(breaker.id, end);
    const open = this.#breakers.openBreaker(breaker.id);
    return open && hold(open, row, this.#breakers, this.#deps);
  }
}

/** Milliseconds after slow start over which the notifications are spread that it has held. */
const SPREAD_MS = 120_000;

/**
 * A draining provider gets a few notifications per second at first, and twice as many every few seconds. Workers need no
 * common count for that: what arrives comes at the rate of the lines, so each notification passes with the probability by
 * which the provider is behind that rate. Where only a few are held they pass at once: they are no more than the
 * provider gets before the first doubling.
 * @returns undefined when the notification passes
 */
export function slowStart(breaker: Breaker, context: TransitionContext, random: () => number): Held | undefined {
  const rate = lineRate(breaker, context.policy);
  const fastest = Math.max(rate, breaker.peak_per_second ?? 0);
  const arriving = Math.min(fastest, (heldNow(breaker) * 1000) / DOUBLES_EVERY_MS);
  const allowed = Math.min(rate, startedRate(breaker, context));
  if (allowed >= arriving || random() < allowed / arriving) return undefined;
  const soonest = context.now.getTime() + 1_000;
  const started = Math.max(soonest, startedAt(breaker, context));
  // If slots were given out faster than the provider takes them, the spread is longer by the same factor.
  const spread = SPREAD_MS * Math.max(1, fastest / rate);
  return {
    do: 'hold',
    until: new Date(started + Math.floor(random() * spread)).toISOString(),
    soonest: new Date(soonest).toISOString(),
    error_type: breaker.error_type,
    by: { breaker: breaker.id },
  };
}

/** The next slot in the lane's line. @returns undefined when the breaker turns out not to be open any more */
export async function hold(
  known: Breaker,
  { priority }: { readonly priority: Priority },
  breakers: SharedBreakers,
  { store, policy, clock, onFault }: Pick<BreakerDeps, 'store' | 'policy' | 'clock' | 'onFault'>,
): Promise<Held | undefined> {
  const { lane } = PRIORITY_POLICY[priority];
  const now = clock().getTime();
  const held = (until: number, soonest: number, error_type: Breaker['error_type']): Held => ({
    do: 'hold',
    until: new Date(until).toISOString(),
    soonest: new Date(soonest).toISOString(),
    error_type,
    by: { breaker: known.id },
  });
  try {
    const taken = await store.takeSlot(known.id, lane);
    if (taken) breakers.learn(taken.breaker);
    else breakers.forget(known.id);
    if (taken === undefined || phaseOf(taken.breaker, clock()) !== 'open') return undefined;
    const { breaker, slot } = taken;
    const soonest = Math.min(epochMs(breaker.probe_at), now + breaker.interval_ms);
    const turn = slotTime(breaker.lines[lane], slot, lineRate(breaker, policy));
    return held(Math.max(turn, soonest), soonest, breaker.error_type);
  } catch (error) {
    // Storage fails, which does not mean that the provider is back: held without a slot in the line.
    onFault?.(error);
    const next = Math.max(epochMs(known.probe_at), now + known.interval_ms);
    return held(next, next, known.error_type);
  }
}

/** Errors that show an outage. A rate limit, or the refusal of one message, shows that the provider is up. */
const OUTAGE_ERRORS: readonly ProviderErrorType[] = ['NETWORK_TIMEOUT', 'SERVER_OVERLOAD', 'UNKNOWN'];

export function showsOutage(refused: Refused): boolean {
  return refused.asked !== false && OUTAGE_ERRORS.includes(refused.error_type);
}

/** The provider answered, even if it refused the message. */
function isAlive(result: SendResult): boolean {
  return result.ok || (!showsOutage(result) && result.response_code !== undefined);
}

type ProbeDeps = Pick<BreakerDeps, 'policy' | 'clock' | 'probe_ms'>;

/** Milliseconds in which a worker lets one notification pass that was asked for by name: a list of names may be long. */
const NAMED_EVERY_MS = 5_000;
/** Most providers of which a worker keeps that time, to bound its memory. */
const MAX_TIMES = 2_000;

/** The probes that this worker makes, one per provider. */
export class Probes {
  readonly #breakers: SharedBreakers;
  readonly #deps: ProbeDeps;
  readonly #underWay = new Map<string, { readonly back: Promise<boolean>; readonly until: number }>();
  /** By provider, when one that was asked for by name passed its breaker. */
  readonly #namedAt = new Map<string, number>();

  constructor(breakers: SharedBreakers, deps: ProbeDeps) {
    this.#breakers = breakers;
    this.#deps = deps;
  }

  /** Whether the provider is back, once this worker's probe shows it; undefined when this worker makes no probe. */
  underWay(id: string): Promise<boolean> | undefined {
    const probe = this.#underWay.get(id);
    return probe !== undefined && probe.until > this.#deps.clock().getTime() ? probe.back : undefined;
  }

  /**
   * The worker that wins the transition makes the probe.
   * @returns what moves the breaker on by the provider's answer; undefined for the others, which learn of the transition
   */
  async begin(breaker: Breaker): Promise<((result: SendResult) => Promise<void>) | undefined> {
    const { clock, policy, probe_ms } = this.#deps;
    const { id } = breaker;
    const ended = this.#begin(id);
    const leased = probing(breaker, probe_ms, { now: clock(), policy });
    if (!(await this.#breakers.transition(leased))) {
      ended(this.#breakers.phase(id) !== 'open');
      return undefined;
    }
    return async (result) => {
      await this.#moveOn(leased, result);
      ended(isAlive(result));
    };
  }

  /** Whether one that was asked for by name passes the breaker now. */
  passesNamed(id: string): boolean {
    const now = this.#deps.clock().getTime();
    if (now < (this.#namedAt.get(id) ?? Number.NEGATIVE_INFINITY) + NAMED_EVERY_MS) return false;
    if (this.#namedAt.size >= MAX_TIMES) this.#namedAt.clear();
    this.#namedAt.set(id, now);
    return true;
  }

  /** A probe without a lease: a failure leaves the time of the next one as it is. */
  beginNamed(id: string): (result: SendResult) => Promise<void> {
    const ended = this.#begin(id);
    return async (result) => {
      if (isAlive(result)) await this.#breakers.drain(id);
      ended(isAlive(result));
    };
  }

  #begin(id: string): (isBack: boolean) => void {
    const { clock, probe_ms } = this.#deps;
    const { promise: back, resolve } = Promise.withResolvers<boolean>();
    this.#underWay.set(id, { back, until: clock().getTime() + probe_ms });
    return (isBack) => {
      this.#underWay.delete(id);
      resolve(isBack);
    };
  }

  async #moveOn(leased: Breaker, result: SendResult): Promise<void> {
    const { clock, policy } = this.#deps;
    const now = clock();
    if (isAlive(result)) await this.#breakers.drain(leased.id);
    else if (!result.ok && showsOutage(result)) {
      await this.#breakers.transition(reopened(leased, result.error_type, { now, policy }));
    } else await this.#breakers.transition(returned(leased, now));
  }
}
