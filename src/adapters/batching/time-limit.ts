/** A call was given up: nobody knows whether it is or will be applied. */
class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * @param what the service, as the message names it
 * @throws TimeoutError after `ms` milliseconds; the call itself goes on, so it must be harmless when it is repeated
 */
export function withinLimit<T>(call: Promise<T>, ms: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new TimeoutError(`${what} has not answered within ${ms / 1000} seconds.`));
    const timer = setTimeout(late, ms);
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

interface Client {
  send(...args: never[]): unknown;
}

/**
 * The client with a limit for each call, the client's own repeats included.
 * @param rest_ms calls are refused within this time after one without an answer: a service that is silent would take the
 *   limit of each call of a batch
 */
export function withCallLimit<C extends Client>(client: C, ms: number, what: string, rest_ms = 0): C {
  let silentUntil = Number.NEGATIVE_INFINITY;
  const send = async (...args: never[]) => {
    if (Date.now() < silentUntil) throw new TimeoutError(`${what} has not answered a moment ago.`);
    try {
      return await withinLimit(Promise.resolve(client.send(...args)), ms, what);
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') silentUntil = Date.now() + rest_ms;
      throw error;
    }
  };
  return Object.assign(Object.create(client) as C, { send });
}
