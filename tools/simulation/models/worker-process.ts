import type { VirtualTime } from '../engine/virtual-time.ts';

const NEVER = new Promise<never>(() => {});

/** Why a process ended before its work did. */
export type Death = 'killed' | 'timeout';

/**
 * One instance of a function: its external calls take time, and after its death none returns. A call that was on its way
 * then still takes effect, as a request on the wire does.
 */
export class WorkerProcess {
  static #processes = 0;
  readonly name = `process ${++WorkerProcess.#processes}`;
  readonly #time: VirtualTime;
  readonly #onDeath: (worker: WorkerProcess, death: Death) => void;
  dead = false;
  lastUsed = 0;
  /** Called when the process dies during an invocation. */
  onEnd: () => void = () => {};
  #calls = 0;
  #diesAt = Number.POSITIVE_INFINITY;

  constructor(time: VirtualTime, onDeath: (worker: WorkerProcess, death: Death) => void) {
    this.#time = time;
    this.#onDeath = onDeath;
  }

  /** The process dies at this external call, counted from now: an even number before its effect, an odd one after. */
  dieAt(call: number): void {
    this.#calls = 0;
    this.#diesAt = call;
  }

  die(death: Death): void {
    if (this.dead) return;
    this.dead = true;
    this.#onDeath(this, death);
  }

  call<T>(ms: number, run: () => T | Promise<T>): Promise<T> {
    if (this.dead) return NEVER;
    const call = this.#calls++;
    if (call * 2 === this.#diesAt) {
      this.die('killed');
      return NEVER;
    }
    return new Promise((resolve, reject) => {
      this.#time.at(this.#time.now + ms, () => {
        this.#answer(call, run).then(resolve, reject);
      });
    });
  }

  async #answer<T>(call: number, run: () => T | Promise<T>): Promise<T> {
    const result = await run();
    if (call * 2 + 1 === this.#diesAt) this.die('killed');
    return this.dead ? NEVER : result;
  }
}
