const MAX_REMEMBERED = 500;

/**
 * Makes a call at most once per key and period, also when it fails: a source in trouble is not asked more often.
 * Callers within the period wait for the call that was made.
 * @param now milliseconds
 */
export function seldom(
  run: (key: string) => Promise<void>,
  period_ms: number,
  now: () => number,
): (key: string) => Promise<void> {
  const made = new Map<string, { readonly at: number; readonly done: Promise<void> }>();
  return (key) => {
    const last = made.get(key);
    if (last !== undefined && now() - last.at < period_ms) return last.done;
    const done = run(key);
    if (made.size >= MAX_REMEMBERED) made.clear();
    made.set(key, { at: now(), done });
    return done;
  };
}
