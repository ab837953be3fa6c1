/**
 * Resolves with undefined when the signal aborts, at once if it has aborted already; never resolves without a signal.
 */
export function whenAborted(signal: AbortSignal | undefined): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve(undefined);
    else signal?.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
