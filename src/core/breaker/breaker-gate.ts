import { type Admission, type Held, PASS_THROUGH, type ProviderGate, type SendResult } from '../delivery/ports.ts';
import { type Priority, providerKey, type Routed } from '../model/channels.ts';
import type { NotificationRow } from '../model/notification.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import {
  type Breaker,
  DOUBLES_EVERY_MS,
  heldNow,
  lineRate,
  phaseOf,
  slotTime,
  startedAt,
  startedRate,
  type TransitionContext,
} from './breaker.ts';
import { BATCH_WAIT_MS, OutageDetector, Probes, showsOutage } from './outage-detector.ts';
import { type BreakerDeps, SharedBreakers } from './shared-breakers.ts';

/** Milliseconds for which a worker trusts what it has read of the breakers. */
const FRESH_MS = 5_000;

/**
 * The breakers as one worker sees them: its own outcomes, and what the store says of the other workers' transitions.
 */
export class BreakerGate implements ProviderGate {
  readonly #deps: BreakerDeps;
  readonly #breakers: SharedBreakers;
  readonly #detector: OutageDetector;
  readonly #probes: Probes;

  constructor(deps: BreakerDeps) {
    this.#deps = deps;
    this.#breakers = new SharedBreakers(deps);
    this.#detector = new OutageDetector(this.#breakers, deps);
    this.#probes = new Probes(this.#breakers, deps);
  }

  async admit(row: NotificationRow, named: boolean): Promise<Admission> {
    const id = providerKey(row, await this.#deps.addressedBy?.(row));
    if (id === undefined) return PASS_THROUGH.admit(row, named);
    await this.#breakers.refresh(id, FRESH_MS);
    const breaker = this.#openBreaker(id);
    if (breaker === undefined) return this.#sendOrStartSlowly(id, row, named);
    this.#detector.forget(id);
    const probe = this.#probes.underWay(id);
    if (probe !== undefined) {
      const isBack = await Promise.race([probe, this.#deps.pause(BATCH_WAIT_MS)]);
      return isBack === true ? this.#sendOrStartSlowly(id, row, named) : this.#hold(breaker, row);
    }
    if (named && this.#probes.passesNamed(id)) return this.#sendProbe(id, this.#probes.beginNamed(id));
    return epochMs(breaker.probe_at) > this.#now() ? this.#hold(breaker, row) : this.#probe(breaker, row);
  }

  holds(provider: Routed): boolean {
    const id = providerKey(provider);
    return id !== undefined && this.#openBreaker(id) !== undefined;
  }

  /** Sends, or holds by slow start. That also covers a batch that has waited for a probe: all of it would go at once. */
  #sendOrStartSlowly(id: string, row: NotificationRow, named = false): Admission {
    const breaker = this.#breakers.get(id);
    if (breaker === undefined || this.#breakers.phase(id) !== 'draining') return this.#send(id, row);
    const { clock, policy, random = Math.random } = this.#deps;
    const held = slowStart(breaker, { now: clock(), policy }, random);
    return held === undefined || (named && this.#probes.passesNamed(id)) ? this.#send(id, row) : held;
  }

  #send(id: string, row: NotificationRow): Admission {
    const { log_id } = row;
    const end = this.#detector.underWay.begin(id);
    return {
      do: 'send',
      report: async (result) => {
        this.#detector.observe(id, log_id, result);
        end();
        if (result.ok) await this.#breakers.closeIfDrained(id);
        else if (showsOutage(result)) await this.#detector.openIfDown(id, result.error_type, row);
        return this.#isExcused(id, result);
      },
    };
  }

  /** Makes a probe, for whose answer the rest of the batch waits. @param end changes the breaker by the answer */
  #sendProbe(id: string, end: (result: SendResult) => Promise<void>): Admission {
    return {
      do: 'send',
      report: async (result) => {
        await end(result);
        return this.#isExcused(id, result);
      },
    };
  }

  /** Makes the probe, unless another worker makes it first: then its breaker, as it is now, holds or sends. */
  async #probe(breaker: Breaker, row: NotificationRow): Promise<Admission> {
    const { id } = breaker;
    const end = await this.#probes.begin(breaker);
    if (end !== undefined) return this.#sendProbe(id, end);
    const open = this.#openBreaker(id);
    return open === undefined ? this.#sendOrStartSlowly(id, row) : this.#hold(open, row);
  }

  async #hold(breaker: Breaker, row: NotificationRow): Promise<Admission> {
    return (await hold(breaker, row, this.#breakers, this.#deps)) ?? this.#sendOrStartSlowly(breaker.id, row);
  }

  /**
   * A failure while the provider is down does not count. A failure on our side counts, so that its notification ends.
   */
  #isExcused(id: string, result: SendResult): boolean {
    return !result.ok && result.asked !== false && this.#breakers.phase(id) !== 'closed';
  }

  #openBreaker(id: string): Breaker | undefined {
    return this.#breakers.phase(id) === 'open' ? this.#breakers.get(id) : undefined;
  }

  #now(): number {
    return this.#deps.clock().getTime();
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
