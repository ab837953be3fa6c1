import type { Lane } from '../model/channels.ts';
import type { Clock } from '../model/time.ts';
import { type Breaker, phaseOf } from './breaker.ts';

/** PipelineState, as the breakers need it. */
export interface BreakerStore {
  /** All that opened within the last day or so, closed ones included. */
  list(): Promise<readonly Breaker[]>;
  /**
   * Makes a transition: sets all but the lines' slots, which takeSlot alone counts.
   * False when the stored one is not of the version before: another worker was faster.
   */
  write(breaker: Breaker): Promise<boolean>;
  /** Takes the line's next slot; gives it and the breaker as it is now, undefined when there is none. */
  takeSlot(id: string, lane: Lane): Promise<{ readonly slot: number; readonly breaker: Breaker } | undefined>;
}

export interface SharedBreakersDeps {
  readonly store: BreakerStore;
  readonly clock: Clock;
  /** Storage failed; deliveries go on as if nothing had been learnt. */
  readonly onFault?: (error: unknown) => void;
}

/** What one worker knows of the breakers: read now and then, and kept up by its own transitions. */
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

  /** Of two views of a breaker the one with the later transition counts, in whatever order they come. */
  learn(breaker: Breaker): void {
    const known = this.#known.get(breaker.id);
    if (known === undefined || known.version <= breaker.version) this.#known.set(breaker.id, breaker);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Reads them anew unless that was done within the time given. Callers at the same moment share one read. */
  async refresh(max_age_ms: number): Promise<void> {
    if (this.#reading === undefined && this.#deps.clock().getTime() - this.#readAt < max_age_ms) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  /** False when another worker made one first; what it made is known then. */
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
    // Also when it fails: storage that is slow is not to be asked for each notification.
    this.#readAt = this.#deps.clock().getTime();
    try {
      for (const breaker of await this.#deps.store.list()) this.learn(breaker);
    } catch (error) {
      this.#deps.onFault?.(error);
    }
  }
}
