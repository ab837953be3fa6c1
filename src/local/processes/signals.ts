/** Within this time a second signal is the first one again: npm and tsx pass on what the terminal has sent already. */
const SAME_MS = 300;

/** Resolves with the exit code at the first SIGINT (130) or SIGTERM (0); at a second one this process ends at once. */
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
    // A closed terminal.
    on('SIGHUP', 129);
  });
}
