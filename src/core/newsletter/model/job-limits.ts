import { ExplainedError } from '../../model/problem.ts';
import type { Clock } from '../../model/time.ts';
import { BATCH_SIZE } from './batch.ts';
import { CHUNK_SIZE } from './chunk.ts';
import { EMAIL_CONCURRENCY } from './email.ts';
import type { JobLog } from './ports.ts';

/** Tries and pauses of one kind of failure. The pause doubles with each try. */
export interface Tries {
  /** Repetitions after the first try. */
  readonly tries: number;
  readonly first_ms: number;
  /** Longest pause between two tries. */
  readonly longest_ms: number;
  /** Deadline for tries, in ms after the first one. */
  readonly within_ms: number;
}

/** The numbers of the job. The stage sets the retries and the concurrency. */
export interface JobLimits {
  readonly storage_before_sending: Tries;
  readonly storage_after_sending: Tries;
  readonly provider: Tries;
  readonly provider_overloaded: Tries;
  readonly concurrency: number;
  readonly batch_size: number;
  readonly chunk_size: number;
  /** Chunks whose recipients a sender reads at once. */
  readonly read_ahead: number;
  /** A sender writes its counts no more often: between two writes they are so old at most. */
  readonly counts_ms: number;
  /** Recipients after which the preparation commits all open batches, so that a death repeats no more than those. */
  readonly cut_recipients: number;
  /** When a call to the provider counts as unanswered. */
  readonly call_timeout_ms: number;
  /** What is left of an invocation after a call, so that its outcome can be recorded or queued. */
  readonly record_reserve_ms: number;
  /** A sender without a sign of life within this time has crashed. */
  readonly sender_claim_ms: number;
  /** A sender gives a sign of life so often, also while a call hangs. */
  readonly renew_ms: number;
  /** A preparation without a sign of life within this time has crashed; longer than a write takes (lease.ts). */
  readonly lease_ms: number;
  /** How long an operator's decision takes a batch. */
  readonly claim_ms: number;
  /** A call that is not answered within this time gives the slot of its batch to another one, once per sender. */
  readonly hang_ms: number;
  /** A message that nobody answered within this time is sent again, the first time and later. */
  readonly first_message_ms: number;
  readonly message_ms: number;
  /** A message that nobody has answered within this time after it was given out is an operator's matter. */
  readonly stalled_ms: number;
  /** A longer pause gives the slot back. */
  readonly longest_pause_ms: number;
  /** Pause after a provider refused for its rate, if pacing does not know better. */
  readonly throttled_ms: number;
  /** Pause after a provider refused for its daily quota, if pacing does not know better. */
  readonly quota_ms: number;
  /** How often a sender looks whether the email was paused. */
  readonly email_check_ms: number;
  /** How long recipients are uncertain before they may be sent to again: SES's events may tell of them. */
  readonly uncertain_ms: number;
  /** A request that resolves an email begins no further group of batches after this time; a message goes on. */
  readonly resolve_ms: number;
  /** Batches that are resolved at once. */
  readonly resolve_group: number;
  /** Recipients whose mail is refused alone before anything of a batch was accepted: then it is the post. */
  readonly suspects: number;
}

const MINUTE = 60_000;

/** How long a recipient has been uncertain before `resend` takes it, where the stage says nothing else. */
export const UNCERTAIN_MINUTES = 15;

/** The retry numbers are those of batch-sending-service-job.md, リトライ仕様. */
export const DEFAULT_JOB_LIMITS: JobLimits = {
  storage_before_sending: { tries: 10, first_ms: 2_000, longest_ms: 10 * MINUTE, within_ms: 10 * MINUTE },
  storage_after_sending: { tries: 20, first_ms: 2_000, longest_ms: 30 * MINUTE, within_ms: 30 * MINUTE },
  provider: { tries: 6, first_ms: 10_000, longest_ms: 320_000, within_ms: Number.POSITIVE_INFINITY },
  provider_overloaded: { tries: 30, first_ms: 10_000, longest_ms: 5 * MINUTE, within_ms: Number.POSITIVE_INFINITY },
  concurrency: EMAIL_CONCURRENCY,
  batch_size: BATCH_SIZE,
  chunk_size: CHUNK_SIZE,
  read_ahead: 10,
  counts_ms: 2_000,
  cut_recipients: 100_000,
  call_timeout_ms: 30_000,
  record_reserve_ms: 20_000,
  // With the clock's minute, a death is noticed within 90 s.
  sender_claim_ms: 20_000,
  renew_ms: 5_000,
  lease_ms: 30_000,
  claim_ms: 2 * MINUTE,
  hang_ms: 3_000,
  first_message_ms: MINUTE,
  message_ms: 5 * MINUTE,
  // Ten batches at once that are all slow end their invocations after 15 minutes, and let the others in.
  stalled_ms: 20 * MINUTE,
  longest_pause_ms: 20_000,
  throttled_ms: 2_000,
  quota_ms: 15 * MINUTE,
  email_check_ms: 3_000,
  uncertain_ms: UNCERTAIN_MINUTES * MINUTE,
  resolve_ms: 6_000,
  resolve_group: 10,
  suspects: 3,
};

/** Milliseconds before the next try. @param made tries made so far, from 1 */
export function pauseAfter(made: number, { first_ms, longest_ms }: Tries): number {
  return Math.min(first_ms * 2 ** (made - 1), longest_ms);
}

export interface StorageRetryDeps {
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  readonly log: JobLog;
}

/** Storage did not recover within the tries, or before the invocation's time ends. */
export class StorageUnavailableError extends ExplainedError {
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
