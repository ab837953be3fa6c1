import { expect, it } from 'vitest';
import { DEFAULT_JOB_LIMITS, SOURCE_RETRIES, withRetries } from '../../../../src/core/newsletter/model/job-limits.ts';

it('the retries of the source are those that the job has by default', () => {
  expect(withRetries(DEFAULT_JOB_LIMITS, SOURCE_RETRIES)).toEqual(DEFAULT_JOB_LIMITS);
});

it('a stage may change each of them, and nothing else', () => {
  const limits = withRetries(DEFAULT_JOB_LIMITS, {
    storage_before_sending: 1,
    storage_before_minutes: 2,
    storage_after_sending: 3,
    storage_after_minutes: 4,
    storage_pause_seconds: 5,
    provider: 6,
    provider_overloaded: 7,
    provider_pause_seconds: 400,
    refused_recipients: 20,
  });
  expect(limits).toEqual({
    ...DEFAULT_JOB_LIMITS,
    refused_recipients: 20,
    storage_before_sending: { retries: 1, first_ms: 5_000, longest_ms: 120_000, within_ms: 120_000 },
    storage_after_sending: { retries: 3, first_ms: 5_000, longest_ms: 240_000, within_ms: 240_000 },
    // The first pause is never cut off.
    provider: { ...DEFAULT_JOB_LIMITS.provider, retries: 6, first_ms: 400_000, longest_ms: 400_000 },
    provider_overloaded: {
      ...DEFAULT_JOB_LIMITS.provider_overloaded,
      retries: 7,
      first_ms: 400_000,
      longest_ms: 400_000,
    },
  });
});
