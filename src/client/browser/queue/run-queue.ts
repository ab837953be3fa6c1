export interface RunPorts {
  /** Runs one step at a time in all tabs together. */
  readonly exclusively: <T>(step: () => Promise<T>) => Promise<T>;
  /** @returns milliseconds until the next step; undefined: nothing is to be done until something changes */
  readonly step: (anew: boolean) => Promise<number | undefined>;
  readonly onFault: (error: unknown) => void;
}

/** Milliseconds until the next try, after the browser's own storage failed. */
const FAULT_MS = 30_000;

/** Milliseconds. A timer for longer ends at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Takes steps until nothing is left to do. Every tab runs one: whichever is open goes on. */
export function runQueue({ exclusively, step, onFault }: RunPorts) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  let woken: 'no' | 'yes' | 'anew' = 'no';
  let closed = false;

  async function run(): Promise<number | undefined> {
    for (;;) {
      const anew = woken === 'anew';
      woken = 'no';
      // Another tab may have had the turn until now, and this queue may be closed since.
      const wait = await exclusively(async () => (closed ? undefined : step(anew)));
      if (woken === 'no' && wait !== 0) return wait;
    }
  }

  /** @param anew the network is back */
  async function wake(anew = false): Promise<void> {
    if (woken !== 'anew') woken = anew ? 'anew' : 'yes';
    if (running || closed) return;
    running = true;
    clearTimeout(timer);
    try {
      const wait = await run();
      if (wait !== undefined) timer = setTimeout(wake, Math.min(wait, LONGEST_TIMER_MS));
    } catch (error) {
      onFault(error);
      timer = setTimeout(wake, FAULT_MS);
    } finally {
      running = false;
    }
  }

  return {
    wake,
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}
