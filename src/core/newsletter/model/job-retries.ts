import { type Configured, type NamedSettings, standardsOf } from '../../model/setting.ts';
import type { JobLimits, Tries } from './job-limits.ts';

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
} as const satisfies NamedSettings;

export type JobRetries = Configured<typeof JOB_RETRY_SETTINGS>;

export const SOURCE_RETRIES: JobRetries = /* @__PURE__ */ standardsOf(JOB_RETRY_SETTINGS);

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
