import type { JobLimits, Tries } from './job-limits.ts';

/** The retries of batch-sending-service-job.md (リトライ仕様) that a stage may change. */
export interface JobRetries {
  readonly storage_before_sending: number;
  readonly storage_before_minutes: number;
  readonly storage_after_sending: number;
  readonly storage_after_minutes: number;
  /** Seconds of the first pause; each further one is twice as long. */
  readonly storage_pause_seconds: number;
  readonly provider: number;
  /** Retries after 503. */
  readonly provider_overloaded: number;
  readonly provider_pause_seconds: number;
}

/** The source's numbers. */
export const SOURCE_RETRIES: JobRetries = {
  storage_before_sending: 10,
  storage_before_minutes: 10,
  storage_after_sending: 20,
  storage_after_minutes: 30,
  storage_pause_seconds: 2,
  provider: 6,
  provider_overloaded: 30,
  provider_pause_seconds: 10,
};

const MINUTE = 60_000;

/** The limits with these retries. */
export function withRetries(limits: JobLimits, retries: JobRetries): JobLimits {
  const storage = (tries: number, minutes: number): Tries => ({
    tries,
    first_ms: 1_000 * retries.storage_pause_seconds,
    longest_ms: minutes * MINUTE,
    within_ms: minutes * MINUTE,
  });
  const first_ms = 1_000 * retries.provider_pause_seconds;
  const provider = (given: Tries, tries: number): Tries => ({
    ...given,
    tries,
    first_ms,
    longest_ms: Math.max(given.longest_ms, first_ms),
  });
  return {
    ...limits,
    storage_before_sending: storage(retries.storage_before_sending, retries.storage_before_minutes),
    storage_after_sending: storage(retries.storage_after_sending, retries.storage_after_minutes),
    provider: provider(limits.provider, retries.provider),
    provider_overloaded: provider(limits.provider_overloaded, retries.provider_overloaded),
  };
}
