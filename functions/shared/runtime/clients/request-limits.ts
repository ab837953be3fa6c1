/**
 * Without limits one connection that hangs would eat the batch's time. They are far above what either service takes,
 * and the SDK tries again on another connection, as after any TimeoutError. `requestTimeout` ends with the answer's
 * first byte and only warns unless told to throw; `socketTimeout` covers the rest of the answer. Milliseconds.
 */
export const limits = (ms: number) => ({
  connectionTimeout: 1_000,
  requestTimeout: ms,
  throwOnRequestTimeout: true,
  socketTimeout: ms,
});

export const STORAGE_LIMITS = limits(5_000);
