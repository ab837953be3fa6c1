/** Resolves with the exit code at the first SIGINT (130) or SIGTERM (0); at a second one this process ends at once. */
export function untilSignal(): Promise<number> {
  return new Promise((resolve) => {
    const on = (signal: NodeJS.Signals, code: number) => {
      process.once(signal, () => {
        process.once(signal, () => process.exit(code));
        resolve(code);
      });
    };
    on('SIGINT', 130);
    on('SIGTERM', 0);
    // A closed terminal.
    on('SIGHUP', 129);
  });
}
