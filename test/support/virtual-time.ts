/** Time that passes only when nothing else is left to do. */
export class VirtualTime {
  #now: number;
  #timers: { readonly at: number; readonly resolve: () => void }[] = [];

  constructor(start: Date) {
    this.#now = start.getTime();
  }

  readonly clock = () => new Date(this.#now);

  readonly pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      this.#timers.push({ at: this.#now + ms, resolve });
    });

  /** Runs until the work is done, one timer after the other. */
  async run<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    for (let idle = 0; ; ) {
      // What is ready runs first, however many turns it takes.
      for (let i = 0; i < 60; i++) await Promise.resolve();
      if (done) return work;
      this.#timers.sort((a, b) => a.at - b.at);
      const next = this.#timers.shift();
      if (next === undefined) {
        // Long chains of turns without a pause end, too.
        if (++idle > 1_000) throw new Error('Everybody waits and no timer is set.');
        continue;
      }
      idle = 0;
      this.#now = Math.max(this.#now, next.at);
      next.resolve();
    }
  }
}
