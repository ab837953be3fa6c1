/**
 * Time limits of a client, in milliseconds. Without limits, one connection that hangs would use up the time of a whole
 * batch. The limits are far above what DynamoDB and SQS need, and the SDK retries on another connection, as after any
 * TimeoutError. `requestTimeout` covers the time until the first byte of the answer and only warns unless told to
 * throw. `socketTimeout` covers the rest of the answer.
 */
export const limits = (ms: number) => ({
  connectionTimeout: 1_000,
  requestTimeout: ms,
  throwOnRequestTimeout: true,
  socketTimeout: ms,
});

export const STORAGE_LIMITS = limits(5_000);

interface Client {
  readonly middlewareStack: { remove(name: string): boolean };
}

/**
 * Middleware of the SDK that costs CPU at each call and does nothing here: the log of requests, for which the SDK copies
 * the whole request and answer before it finds that nobody listens, and the SDK's name
 * (docs/decisions/measured/cpu-and-rate.md#0120, docs/decisions/measured/cold-start-and-bundles.md#0127).
 */
const NEEDLESS = ['loggerMiddleware', 'getUserAgentMiddleware'];

/** Removes from a client the middleware that does nothing here. @param more of this client alone */
export function lean<C extends Client>(client: C, ...more: readonly string[]): C {
  for (const name of [...NEEDLESS, ...more]) client.middlewareStack.remove(name);
  return client;
}

/** The trace id, by which AWS notices loops, is read by Lambda, SQS and SNS, not by DynamoDB. */
export const IGNORED_BY_DYNAMODB = 'recursionDetectionMiddleware';
