import type { Clock } from '../../model/time.ts';
import { pauseAfter, type Tries } from '../model/job-limits.ts';
import type { JobLog } from '../model/job-log.ts';

export interface StorageRetryDeps {
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  readonly log: JobLog;
}

/** Storage did not recover within the tries, or before the invocation's time ends. */
export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}

export interface StorageRetry {
  /** What is done, for the log: `claim the call`. */
  readonly what: string;
  readonly tries: Tries;
  /** Milliseconds that may pass until the last try begins. */
  readonly left_ms: () => number;
}

/**
 * Repeats a storage call that fails (batch-sending-service-job.md, retryDb). Each call may be repeated: stores recognise
 * a write of their own.
 * @throws StorageUnavailableError with the last error as its cause
 */
export async function retryStorage<T>(
  run: () => Promise<T>,
  { what, tries, left_ms }: StorageRetry,
  { clock, pause, log }: StorageRetryDeps,
): Promise<T> {
  const begun = clock().getTime();
  for (let made = 1; ; made++) {
    try {
      return await run();
    } catch (error) {
      if (error instanceof StopRetrying) throw error.cause;
      const rest = tries.within_ms - (clock().getTime() - begun);
      // The last pause ends with the time: a whole one would leave much of it unused
      // (docs/decisions/newsletters/calls-and-outcomes.md#0184).
      const wait = Math.min(pauseAfter(made, tries), rest);
      const name = error instanceof Error ? error.name : 'unknown error';
      if (made > tries.tries || rest <= 0 || wait > left_ms()) {
        log.error(`[BULK_EMAIL_DB_RETRY] Gave up: could not ${what} in ${made} tries`, { error: name });
        throw new StorageUnavailableError(`Storage was unavailable: could not ${what} in ${made} tries.`, {
          cause: error,
        });
      }
      log.warn(`[BULK_EMAIL_DB_RETRY] Could not ${what}; try ${made + 1} follows in ${wait} ms`, { error: name });
      await pause(wait);
    }
  }
}

/** Thrown inside the call: its cause is no failure of storage, and is thrown at once. */
export class StopRetrying extends Error {
  override readonly name = 'StopRetrying';
  constructor(cause: unknown) {
    super('This is no failure of storage.', { cause });
  }
}
