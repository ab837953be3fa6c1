import type { SendResult } from '../delivery/sender.ts';
import { type Breaker, probing, reopened, returned } from './breaker.ts';
import { isAlive, showsOutage } from './outage-detector.ts';
import type { BreakerDeps, SharedBreakers } from './shared-breakers.ts';

type Deps = Pick<BreakerDeps, 'policy' | 'clock' | 'probe_ms'>;

/** A worker lets one of those that were asked for by name pass in this time, in milliseconds: a thousand would be a flood. */
const NAMED_EVERY_MS = 5_000;
/** Most providers of which a worker keeps that time, to bound its memory. */
const MAX_TIMES = 2_000;

/** The probes that this worker makes, one per provider. */
export class Probes {
  readonly #breakers: SharedBreakers;
  readonly #deps: Deps;
  readonly #underWay = new Map<string, { readonly back: Promise<boolean>; readonly until: number }>();
  /** By provider, when one that was asked for by name passed its breaker. */
  readonly #namedAt = new Map<string, number>();

  constructor(breakers: SharedBreakers, deps: Deps) {
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
