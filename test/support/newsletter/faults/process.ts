import type { VirtualTime } from '../../../../simulation/engine/virtual-time.ts';

/** A process died, or its invocation was ended. */
export class Died extends Error {}

/** Storage refused a call, or its answer got lost. */
class StorageDown extends Error {
  override readonly name = 'ThrottlingException';
}

/** What may happen to a process's calls to the outside. */
export interface Weather {
  /** Draws from [0, 1). */
  readonly random: () => number;
  /** Whether storage is down now. */
  readonly storageIsDown: () => boolean;
  /** Part of the storage calls that fail, half of them after they were applied. */
  readonly failing: () => number;
  /** Part of the calls after which the process stands still for minutes. */
  readonly stalling: () => number;
}

/** One invocation of a function: its calls to the outside take time, fail, and end with it. */
export class Process {
  calls = 0;
  dead = false;
  readonly ends_at: number;
  readonly #time: VirtualTime;
  readonly #weather: Weather;
  /** Dies before (2k) or after (2k + 1) its k-th call. */
  readonly #dies_at: number | undefined;

  constructor(time: VirtualTime, weather: Weather, limit_ms: number, dies_at?: number) {
    this.#time = time;
    this.#weather = weather;
    this.#dies_at = dies_at;
    this.ends_at = time.clock().getTime() + limit_ms;
  }

  readonly remaining_ms = () => this.ends_at - this.#time.clock().getTime();

  readonly pause = async (ms: number): Promise<void> => {
    await this.#time.pause(ms);
    this.#check();
  };

  /** Stops by itself when the process ends. */
  readonly repeat = (ms: number, run: () => Promise<unknown>): (() => void) => {
    let stopped = false;
    const next = async () => {
      for (;;) {
        await this.#time.pause(ms);
        if (stopped || this.dead || this.remaining_ms() <= 0) return;
        await run().catch(() => undefined);
      }
    };
    void next();
    return () => {
      stopped = true;
    };
  };

  /** A call to storage, or to a queue, which is up while storage is down. */
  async storage<T>(run: () => Promise<T>, queue = false): Promise<T> {
    const { random, storageIsDown, failing } = this.#weather;
    return this.call(async () => {
      const fails = (!queue && storageIsDown()) || random() < failing();
      if (fails && random() < 0.5) throw new StorageDown('slow down');
      const result = await run();
      if (fails) throw new StorageDown('the answer was lost');
      return result;
    });
  }

  async call<T>(run: () => Promise<T>): Promise<T> {
    this.#check();
    const call = this.calls++;
    if (this.#dies_at === 2 * call) this.dead = true;
    this.#check();
    await this.#time.pause(1 + Math.floor(this.#weather.random() * 20));
    // What was sent arrives, even if its sender died meanwhile.
    const result = await run();
    if (this.#dies_at === 2 * call + 1) this.dead = true;
    if (this.#weather.random() < this.#weather.stalling()) await this.#time.pause(this.#weather.random() * 400_000);
    this.#check();
    return result;
  }

  #check(): void {
    if (this.remaining_ms() <= 0) this.dead = true;
    if (this.dead) throw new Died('The process has ended.');
  }
}

/** Wraps every method of a storage port so that its calls pass through the process. */
export function through<T extends object>(process: Process, target: T, queue = false): T {
  return Object.fromEntries(
    Object.entries(target).map(([method, run]) => [
      method,
      (...args: unknown[]) => process.storage(() => (run as (...args: unknown[]) => Promise<unknown>)(...args), queue),
    ]),
  ) as T;
}
