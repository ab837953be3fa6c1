/**
 * Milliseconds after which a call to RetryLog counts as failed. The storage client alone tries for half a minute, most of
 * the time that a worker has, while the row of an accepted attempt waits to take the record
 * (docs/decisions/delivery/records-and-settlement.md#0177).
 */
export const RECORD_LIMIT_MS = 3_000;

/** @throws a TimeoutError after RECORD_LIMIT_MS; the call itself goes on, so it must be harmless when it is repeated */
export function withinLimit<T>(call: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => {
      const message = `RetryLog has not answered within ${RECORD_LIMIT_MS / 1000} seconds.`;
      reject(Object.assign(new Error(message), { name: 'TimeoutError' }));
    };
    const timer = setTimeout(late, RECORD_LIMIT_MS);
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
