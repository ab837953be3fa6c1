/**
 * Protects the client from a callback that fails. At the first failure, a rejected promise included, the process emits
 * a warning and the callback is not called again.
 */
export function guardCallback<T>(callback: (given: T) => unknown): (given: T) => void {
  let failed = false;
  const fail = (error: unknown) => {
    if (!failed) process.emitWarning(`A callback of the notification client failed and is not called again: ${error}`);
    failed = true;
  };
  return (given) => {
    if (failed) return;
    try {
      const returned = callback(given);
      if (returned instanceof Promise) returned.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}
