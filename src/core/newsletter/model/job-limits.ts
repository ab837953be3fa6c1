import { ExplainedError } from '../../model/problem.ts';
import { type Configured, type NamedSettings, standardsOf } from '../../model/setting.ts';
import type { Clock } from '../../model/time.ts';
import { BATCH_SIZE, CHUNK_SIZE } from './batch.ts';
import { EMAIL_CONCURRENCY } from './email.ts';
import type { JobLog } from './ports.ts';

/** Tries and pauses of one kind of failure. The pause doubles with each try. */
export interface Tries {
  /** Repetitions after the first try. */
  readonly retries: number;
  readonly first_ms: number;
  /** Longest pause between two tries. */
  readonly longest_ms: number;
  /** Deadline for tries, in ms after the first one. */
  readonly within_ms: number;
}

const MINUTE = 60_000;

/** How long a recipient has been uncertain before `resend` takes it, where the stage says nothing else. */
export const UNCERTAIN_MINUTES = 15;

/** A stage sets the retries (batch-sending-service-job.md, リトライ仕様) and the concurrency. */
export const DEFAULT_JOB_LIMITS = {
  storage_before_sending: { retries: 10, first_ms: 2_000, longest_ms: 10 * MINUTE, within_ms: 10 * MINUTE },
  storage_after_sending: { retries: 20, first_ms: 2_000, longest_ms: 30 * MINUTE, within_ms: 30 * MINUTE },
  provider: { retries: 6, first_ms: 10_000, longest_ms: 320_000, within_ms: Number.POSITIVE_INFINITY },
  provider_overloaded: { retries: 30, first_ms: 10_000, longest_ms: 5 * MINUTE, within_ms: Number.POSITIVE_INFINITY },
  concurrency: EMAIL_CONCURRENCY,
  batch_size: BATCH_SIZE,
  chunk_size: CHUNK_SIZE,
  /** Chunks whose recipients a sender reads at once. */
  read_ahead: 10,
  /** A sender writes its counts no more often: between two writes they are so old at most. */
  counts_ms: 2_000,
  /** Recipients after which the preparation commits all open batches, so that a death repeats no more than those. */
  cut_recipients: 100_000,
  /**
   * A preparation or dry run gives its place to the next message after this time: two mailings of millions held both
   * places for minutes, and another tenant's of ten recipients waited behind them.
   */
  slice_ms: 15_000,
  /** When a call to the provider counts as unanswered. */
  call_timeout_ms: 30_000,
  /** What is left of an invocation after a call, so that its outcome can be recorded or queued. */
  record_reserve_ms: 20_000,
  /** A sender without a sign of life within this time has crashed. With the clock's minute that is noticed within 90 s. */
  sender_lease_ms: 20_000,
  /** The time between two signs of life of a sender, also while a call hangs. */
  renew_ms: 5_000,
  /** A preparation without a sign of life within this time has crashed; longer than a write takes (lease.ts). */
  lease_ms: 30_000,
  /** How long an operator's decision takes a batch. */
  resolve_lease_ms: 2 * MINUTE,
  /** A call that is not answered within this time gives the slot of its batch to another one, once per sender. */
  hang_ms: 3_000,
  /** A message that nobody answered within this time is sent again, the first time and later. */
  first_message_ms: MINUTE,
  message_ms: 5 * MINUTE,
  /**
   * A message that nobody has answered within this time is an operator's matter: ten batches at once that are all slow
   * end their invocations after 15 minutes, and let the others in.
   */
  stalled_ms: 20 * MINUTE,
  /** A longer pause gives the slot back. */
  longest_pause_ms: 20_000,
  /** Pause after a provider refused for its rate, if pacing does not know better. */
  throttled_ms: 2_000,
  /** The longest time until a hold is asked again: with the clock's minute, five. */
  longest_hold_ms: 4 * MINUTE,
  /** How often a sender looks whether the email was paused. */
  email_check_ms: 3_000,
  /** How often it looks whether its tenant may still be sent as. */
  sender_check_ms: MINUTE,
  /** How long recipients are uncertain before they may be sent to again: SES's events may tell of them. */
  uncertain_ms: UNCERTAIN_MINUTES * MINUTE,
  /** A request that resolves an email begins no further group of batches after this time; a message goes on. */
  resolve_ms: 6_000,
  /** Batches that are resolved at once. */
  resolve_group: 10,
  /** So many recipients that are refused for good, for one reason, with no acceptance between: everybody is refused. */
  refused_recipients: 10,
};
export type JobLimits = Readonly<typeof DEFAULT_JOB_LIMITS>;

/** The retries of batch-sending-service-job.md (リトライ仕様) that a stage may change, with the source's numbers. */
export const JOB_RETRY_SETTINGS = {
  /** Retries of a storage call before a call to SES. @ja SES を呼ぶ前のストレージ操作の再試行回数 */
  storageRetriesBeforeSending: {
    name: 'storage_before_sending',
    from: 0,
    to: 100,
    unit: 'retries',
    whole: true,
    standard: 10,
  },
  /**
   * Minutes in which these retries are made;
   * [whichever is reached first](docs/decisions/newsletters/calls-and-outcomes.md#0184) ends them.
   * @ja その再試行の時間の上限（分）。[先に達した方](docs/decisions/newsletters/calls-and-outcomes.md#0184)で終わる
   */
  storageMinutesBeforeSending: { name: 'storage_before_minutes', from: 1, to: 60, unit: 'minutes', standard: 10 },
  /** Retries of a storage call that records an answer of SES. @ja SES の応答を記録するストレージ操作の再試行回数 */
  storageRetriesAfterSending: {
    name: 'storage_after_sending',
    from: 0,
    to: 100,
    unit: 'retries',
    whole: true,
    standard: 20,
  },
  /** Minutes in which these retries are made. @ja その再試行の時間の上限（分） */
  storageMinutesAfterSending: { name: 'storage_after_minutes', from: 1, to: 60, unit: 'minutes', standard: 30 },
  /**
   * Seconds before the first retry of a storage call; each further pause is twice as long.
   * @ja ストレージ操作の最初の再試行までの秒数。以後は 2 倍ずつ延びる
   */
  storagePauseSeconds: { name: 'storage_pause_seconds', from: 1, to: 300, unit: 'seconds', standard: 2 },
  /** Retries of a call that SES refused for the time being. @ja SES が一時的に断った呼び出しの再試行回数 */
  providerRetries: { name: 'provider', from: 0, to: 100, unit: 'retries', whole: true, standard: 6 },
  /** Retries of a call that SES answered with 503. @ja SES が 503 を返した呼び出しの再試行回数 */
  overloadedRetries: { name: 'provider_overloaded', from: 0, to: 100, unit: 'retries', whole: true, standard: 30 },
  /**
   * Seconds before the first retry of a call to SES; each further pause is twice as long.
   * @ja SES の呼び出しの最初の再試行までの秒数。以後は 2 倍ずつ延びる
   */
  providerPauseSeconds: { name: 'provider_pause_seconds', from: 1, to: 300, unit: 'seconds', standard: 10 },
  /**
   * Recipients that SES refuses for one reason, with no acceptance between, after which a mailing holds.
   * @ja SES が同じ理由で続けて拒否し、その間に受理がないとき、配信を保留する受信者数
   */
  refusedRecipients: { name: 'refused_recipients', from: 2, to: 40, unit: 'recipients', whole: true, standard: 10 },
} as const satisfies NamedSettings;

export type JobRetries = Configured<typeof JOB_RETRY_SETTINGS>;

export const SOURCE_RETRIES: JobRetries = /* @__PURE__ */ standardsOf(JOB_RETRY_SETTINGS);

export function withRetries(limits: JobLimits, retries: JobRetries): JobLimits {
  const storage = (most: number, minutes: number): Tries => ({
    retries: most,
    first_ms: 1_000 * retries.storage_pause_seconds,
    longest_ms: minutes * MINUTE,
    within_ms: minutes * MINUTE,
  });
  const first_ms = 1_000 * retries.provider_pause_seconds;
  const provider = (given: Tries, most: number): Tries => ({
    ...given,
    retries: most,
    first_ms,
    longest_ms: Math.max(given.longest_ms, first_ms),
  });
  return {
    ...limits,
    refused_recipients: retries.refused_recipients,
    storage_before_sending: storage(retries.storage_before_sending, retries.storage_before_minutes),
    storage_after_sending: storage(retries.storage_after_sending, retries.storage_after_minutes),
    provider: provider(limits.provider, retries.provider),
    provider_overloaded: provider(limits.provider_overloaded, retries.provider_overloaded),
  };
}

interface JobTime {
  readonly remaining_ms: () => number;
  readonly limits: JobLimits;
}

/** What is left of an invocation when it begins no further page of members. */
const STOP_MS = 60_000;

/** Whether a pass over members that begins now may begin another page. */
export function sliceOf({ clock, remaining_ms, limits }: JobTime & { readonly clock: Clock }): () => boolean {
  const begun = clock().getTime();
  return () => remaining_ms() >= STOP_MS && clock().getTime() - begun < limits.slice_ms;
}

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
      if (made > tries.retries || rest <= 0 || wait > left_ms()) {
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

/** The calls of a job that come before its call to SES, or without one: repeated with the stage's tries. */
export function storageOf(deps: StorageRetryDeps & JobTime) {
  const terms = { tries: deps.limits.storage_before_sending, left_ms: deps.remaining_ms };
  return <T>(what: string, run: () => Promise<T>): Promise<T> => retryStorage(run, { what, ...terms }, deps);
}

/** Thrown inside the call: its cause is no failure of storage, and is thrown at once. */
export class StopRetrying extends Error {
  override readonly name = 'StopRetrying';
  constructor(cause: unknown) {
    super('This is no failure of storage.', { cause });
  }
}
