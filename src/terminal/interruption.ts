/** Exit codes as in shells: 128 plus the number of the signal. */
export const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type InterruptingSignal = keyof typeof EXIT_CODES;

/** Within this time a second signal is a copy: npm and tsx pass on what the terminal has sent already. */
const COPY_WITHIN_MS = 300;

/** A request to end, by Ctrl-C or by the process that started this one. */
export interface Interruption {
  /** Aborts at the first request. */
  readonly signal: AbortSignal;
  /** The code to exit with; undefined as long as there was no request. */
  readonly exitCode: () => number | undefined;
  /** Resolves with the exit code at the first request. */
  readonly requested: Promise<number>;
}

/** Turns the first signal into a request to end. A second signal ends this process at once. */
export function watchForInterruption(codes: Readonly<Record<InterruptingSignal, number>> = EXIT_CODES): Interruption {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let requestedAt = 0;
  const requested = new Promise<number>((resolve) => {
    for (const name of Object.keys(codes) as InterruptingSignal[]) {
      process.on(name, () => {
        if (exitCode !== undefined) {
          if (performance.now() - requestedAt > COPY_WITHIN_MS) process.exit(exitCode);
          return;
        }
        exitCode = codes[name];
        requestedAt = performance.now();
        controller.abort();
        resolve(exitCode);
      });
    }
  });
  return { signal: controller.signal, exitCode: () => exitCode, requested };
}
