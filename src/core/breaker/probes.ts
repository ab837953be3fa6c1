import type { SendResult } from '../delivery/sender.ts';
import type { Clock } from '../model/time.ts';
import { type Breaker, probing, reopened, returned } from './breaker.ts';
import type { BreakerPolicy } from './breaker-policy.ts';
import { isAlive, showsOutage } from './outage-detector.ts';
import type { SharedBreakers } from './shared-breakers.ts';

export interface ProbesDeps {
  readonly policy: BreakerPolicy;
  readonly clock: Clock;
  /** Milliseconds of a probe's lease: longer than an attempt can take from its admission to its answer. */
  readonly probe_ms: number;
}

/** A probe that this worker makes. */
export interface Probe {
  /** Moves the breaker on according to the provider's answer. */
  end(result: SendResult): Promise<void>;
}

/** The probes that this worker makes, one per provider. */
export class Probes {
  readonly #breakers: SharedBreakers;
  readonly #deps: ProbesDeps;
  readonly #underWay = new Map<string, { readonly back: Promise<boolean>; readonly until: number }>();

  constructor(breakers: SharedBreakers, deps: ProbesDeps) {
    this.#breakers = breakers;
    this.#deps = deps;
  }

  /** Whether the provider is back, once this worker's probe shows it; undefined when this worker makes no probe. */
  underWay(id: string): Promise<boolean> | undefined {
    const probe = this.#underWay.get(id);
    return probe !== undefined && probe.until > this.#deps.clock().getTime() ? probe.back : undefined;
  }

  /** The worker that wins the transition makes the probe. @returns undefined for the others, which learn of it */
  async begin(breaker: Breaker): Promise<Probe | undefined> {
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
    return {
      end: async (result) => {
        await this.#moveOn(leased, result);
        ended(isAlive(result));
      },
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
