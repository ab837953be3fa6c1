import type { Clock } from '../core/model/time.ts';

/**
 * Reads once for all who ask at the same time or within the period after it: each open page polls, and the answer costs
 * reads of the whole work index.
 */
export function sharedFor<T>(ms: number, clock: Clock, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; ended?: number } | undefined;
  return () => {
    const isFresh = last !== undefined && (last.ended === undefined || clock().getTime() - last.ended < ms);
    if (isFresh && last !== undefined) return last.value;
    const asked: { readonly value: Promise<T>; ended?: number } = { value: read() };
    last = asked;
    asked.value.then(
      () => {
        asked.ended = clock().getTime();
      },
      () => {
        // The next one asks anew.
        if (last === asked) last = undefined;
      },
    );
    return asked.value;
  };
}
