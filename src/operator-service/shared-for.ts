import type { Clock } from '../core/model/time.ts';

/** An answer is shared for at least so many times as long as it took: pages that poll use up a sixth of a CPU at most. */
const SHARE = 5;

/**
 * Reads once for all who ask at the same time or within the period after it: each open page polls, and the answer costs
 * many reads of the work index.
 */
export function sharedFor<T>(ms: number, clock: Clock, read: () => Promise<T>): () => Promise<T> {
  interface Asked {
    readonly value: Promise<T>;
    until?: number;
  }
  let last: Asked | undefined;
  return () => {
    const isFresh = last !== undefined && (last.until === undefined || clock().getTime() < last.until);
    if (isFresh && last !== undefined) return last.value;
    const begun = clock().getTime();
    const asked: Asked = { value: read() };
    last = asked;
    asked.value.then(
      () => {
        const now = clock().getTime();
        asked.until = now + Math.max(ms, SHARE * (now - begun));
      },
      () => {
        // The next one asks anew.
        if (last === asked) last = undefined;
      },
    );
    return asked.value;
  };
}
