/**
 * A value that is made by the first call: what only some events need is loaded with them, and not at each cold start. A
 * failure is not remembered.
 */
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
