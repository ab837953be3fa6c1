/** Within this time a second signal is a copy: npm and tsx pass on what the terminal sent to all. */
const SAME_MS = 300;

/** The exit code of the first SIGINT (130), SIGTERM (0) or SIGHUP (129). A second one ends this process. */
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
