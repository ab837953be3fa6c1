import type { VirtualTime } from '../../../../simulation/engine/virtual-time.ts';

const VISIBILITY_MS = 180_000;
const MAX_RECEIVES = 5;
/** A duplicate comes at most so much later. */
const LATE_MS = 600_000;

export interface QueueDeps {
  readonly time: VirtualTime;
  readonly random: () => number;
  readonly isHealed: () => boolean;
  readonly faults: { readonly lost_messages: number; readonly duplicated_messages: number };
}

/** A queue whose messages may get lost, come twice and come late. */
export class FaultyQueue {
  /** Messages on their way, and their functions at work. */
  busy = 0;
  readonly #deps: QueueDeps;
  readonly #old: (() => void)[] = [];

  constructor(deps: QueueDeps) {
    this.#deps = deps;
  }

  /** A message reaches its function; one that fails comes again after its visibility time-out. */
  send(run: () => Promise<void>): void {
    const { random, isHealed, faults } = this.#deps;
    if (this.#old.length < 50) this.#old.push(() => void this.#deliver(run, 0));
    if (!isHealed() && random() < faults.lost_messages) return;
    void this.#deliver(run, random() * 2_000);
    if (!isHealed() && random() < faults.duplicated_messages) void this.#deliver(run, random() * LATE_MS);
  }

  /** An old message is delivered once more. */
  showAgain(): void {
    this.#old[Math.floor(this.#deps.random() * this.#old.length)]?.();
  }

  async #deliver(run: () => Promise<void>, delay_ms: number): Promise<void> {
    const { time } = this.#deps;
    this.busy += 1;
    await time.pause(delay_ms);
    for (let receive = 1; receive <= MAX_RECEIVES; receive++) {
      const failed = await run().then(
        () => false,
        () => true,
      );
      if (!failed) break;
      await time.pause(VISIBILITY_MS);
    }
    this.busy -= 1;
  }
}
