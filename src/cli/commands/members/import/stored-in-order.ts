interface Window {
  /** Members of the window. */
  readonly ids: ReadonlySet<string>;
}

/**
 * Stores several windows at once, and yields what became of them in the order of the file, so that a checkpoint never
 * passes a line that is not stored. A window with a member of an earlier one waits for it: the later line counts.
 * @throws the first failure, in its turn and after all that was begun has ended
 */
export async function* storedInOrder<W extends Window, R>(
  windows: AsyncIterable<W>,
  store: (window: W) => Promise<R>,
  at_once: number,
): AsyncGenerator<readonly [window: W, result: R]> {
  const begun: { readonly window: W; readonly stored: Promise<R> }[] = [];
  const meets = ({ ids }: W) => begun.some(({ window }) => [...ids].some((id) => window.ids.has(id)));
  try {
    for await (const window of windows) {
      for (let first = begun[0]; first && (begun.length >= at_once || meets(window)); first = begun[0]) {
        yield [first.window, await first.stored];
        begun.shift();
      }
      const stored = store(window);
      // Its failure is thrown in its turn.
      stored.catch(() => {});
      begun.push({ window, stored });
    }
    for (const { window, stored } of begun) yield [window, await stored];
  } finally {
    await Promise.allSettled(begun.map(({ stored }) => stored));
  }
}
