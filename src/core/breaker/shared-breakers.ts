import type { Lane } from '../model/channels.ts';
import type { Clock } from '../model/time.ts';
import { type Breaker, closed, draining, opened, phaseOf } from './breaker.ts';
import type { BreakerPolicy } from './breaker-policy.ts';

/** PipelineState, as the breakers need it. */
export interface BreakerStore {
  /** All breakers of the last day or two, closed ones included. */
  list(): Promise<readonly Breaker[]>;
  /**
   * Makes a transition: sets everything but the lines' slots, which only takeSlot counts.
   * @returns false when the stored breaker is not the version before: another worker was faster
   */
  write(breaker: Breaker): Promise<boolean>;
  /** Takes the line's next slot. @returns the slot and the breaker as it is now; undefined when there is no breaker */
  takeSlot(id: string, lane: Lane): Promise<{ readonly slot: number; readonly breaker: Breaker } | undefined>;
}

export interface SharedBreakersDeps {
  readonly store: BreakerStore;
  readonly policy: BreakerPolicy;
  readonly clock: Clock;
  /** Storage failed; deliveries go on with what is known. */
  readonly onFault?: (error: unknown) => void;
  readonly onTransition?: (to: 'opened' | 'closed', breaker: Breaker) => void;
}

/** The breakers as one worker knows them: read from time to time, and updated by its own transitions. */
export class SharedBreakers {
  readonly #deps: SharedBreakersDeps;
  readonly #known = new Map<string, Breaker>();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(deps: SharedBreakersDeps) {
    this.#deps = deps;
  }

  get(id: string): Breaker | undefined {
    return this.#known.get(id);
  }

  phase(id: string): Breaker['state'] {
    return phaseOf(this.#known.get(id), this.#deps.clock());
  }

  /** Of two views of a breaker, the one with the later transition counts, in whatever order they come. */
  learn(breaker: Breaker): void {
    const known = this.#known.get(breaker.id);
    if (known === undefined || known.version <= breaker.version) this.#known.set(breaker.id, breaker);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  /**
   * Reads the breakers, unless the last read is younger than `max_age_ms`. Callers at the same moment share one read.
   */
  async refresh(max_age_ms: number): Promise<void> {
    if (this.#reading === undefined && this.#deps.clock().getTime() - this.#readAt < max_age_ms) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async open(id: string, error_type: Breaker['error_type']): Promise<void> {
    const { clock, policy, onTransition } = this.#deps;
    const breaker = opened({ id, error_type }, this.get(id), { now: clock(), policy });
    if (await this.transition(breaker)) onTransition?.('opened', breaker);
  }

  /** The provider answered: an open breaker lets go what it holds. */
  async drain(id: string): Promise<void> {
    const { clock, policy } = this.#deps;
    const breaker = this.get(id);
    if (breaker?.state === 'open') await this.transition(draining(breaker, { now: clock(), policy }));
  }

  async closeIfDrained(id: string): Promise<void> {
    const breaker = this.get(id);
    if (breaker?.state !== 'draining' || this.phase(id) !== 'closed') return;
    if (await this.transition(closed(breaker))) this.#deps.onTransition?.('closed', breaker);
  }

  /** @returns false when another worker made a transition first, which is known then, or when storage failed */
  async transition(breaker: Breaker): Promise<boolean> {
    try {
      if (await this.#deps.store.write(breaker)) {
        this.learn(breaker);
        return true;
      }
      await this.refresh(0);
    } catch (error) {
      this.#deps.onFault?.(error);
    }
    return false;
  }

  async #read(): Promise<void> {
    // A failed read counts, too: slow storage must not be read for every notification.
    this.#readAt = this.#deps.clock().getTime();
    try {
      for (const breaker of await this.#deps.store.list()) this.learn(breaker);
    } catch (error) {
      this.#deps.onFault?.(error);
    }
  }
}
