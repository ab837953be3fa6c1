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
