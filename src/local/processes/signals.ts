/**
 * A second signal within this time is a copy of the first: npm and tsx pass on the signal that the terminal sent to
 * all.
 */
const SAME_MS = 300;

/**
 * Resolves with the exit code at the first SIGINT (130), SIGTERM (0) or SIGHUP (129). A second signal ends this
 * process.
 */
export function untilSignal(): Promise<number> {
  return new Promise((resolve) => {
    let since: number | undefined;
    const on = (signal: NodeJS.Signals, code: number) => {
      process.on(signal, () => {
        since ??= performance.now();
        if (performance.now() - since > SAME_MS) process.exit(code);
        resolve(code);
      });
    };
    on('SIGINT', 130);
    on('SIGTERM', 0);
    // The terminal was closed.
    on('SIGHUP', 129);
  });
}
