import type { SendResult } from '../delivery/sender.ts';
import { type Breaker, probing, reopened, returned } from './breaker.ts';
import { isAlive, showsOutage } from './outage-detector.ts';
import type { BreakerDeps, SharedBreakers } from './shared-breakers.ts';

type Deps = Pick<BreakerDeps, 'policy' | 'clock' | 'probe_ms'>;

/** The probes that this worker makes, one per provider. */
export class Probes {
  readonly #breakers: SharedBreakers;
  readonly #deps: Deps;
  readonly #underWay = new Map<string, { readonly back: Promise<boolean>; readonly until: number }>();

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
    const { promise: back, resolve } = Promise.withResolvers<boolean>();
    this.#underWay.set(id, { back, until: clock().getTime() + probe_ms });
    const leased = probing(breaker, probe_ms, { now: clock(), policy });
    const ended = (isBack: boolean) => {
      this.#underWay.delete(id);
      resolve(isBack);
    };
    if (!(await this.#breakers.transition(leased))) {
      ended(this.#breakers.phase(id) !== 'open');
      return undefined;
    }
    return async (result) => {
      await this.#moveOn(leased, result);
      ended(isAlive(result));
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
