/** Exit codes as shells give them: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Interrupting = keyof typeof EXIT_CODES;

/** Within this time a second signal is the first one again: npm and tsx pass on what the terminal has sent already. */
const SAME_MS = 300;

/** A request to end, by Ctrl-C or by whoever started the process. */
export interface Interruption {
  /** Aborts at the first request. */
  readonly signal: AbortSignal;
  /** The code to exit with; undefined as long as nobody asked to end. */
  readonly exitCode: () => number | undefined;
  /** Resolves with the exit code at the first request. */
  readonly requested: Promise<number>;
}

/** Turns the first signal into a request to end; a second one ends this process at once. */
export function watchForInterruption(): Interruption {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let since = 0;
  const requested = new Promise<number>((resolve) => {
    for (const name of Object.keys(EXIT_CODES) as Interrupting[]) {
      process.on(name, () => {
        if (exitCode !== undefined) {
          if (performance.now() - since > SAME_MS) process.exit(exitCode);
          return;
        }
        exitCode = EXIT_CODES[name];
        since = performance.now();
        controller.abort();
        resolve(exitCode);
      });
    }
  });
  return { signal: controller.signal, exitCode: () => exitCode, requested };
}
