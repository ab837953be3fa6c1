/** What only some events need is loaded with them, not at each cold start. A failure is not remembered. */
export function onFirstUse<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () => {
    making ??= make().catch((error: unknown) => {
      making = undefined;
      throw error;
    });
    return making;
  };
}

/** A port whose module, with an SDK's client or a parser, is loaded with its first call: most invocations need none. */
export function loadedOnUse<T extends object>(load: () => Promise<T>, ...names: readonly (keyof T)[]): T {
  const port = onFirstUse(load);
  const callOf =
    (name: keyof T) =>
    async (...args: unknown[]) => {
      const made = await port();
      return (made[name] as (...given: unknown[]) => unknown)(...args);
    };
  return Object.fromEntries(names.map((name) => [name, callOf(name)])) as T;
}
