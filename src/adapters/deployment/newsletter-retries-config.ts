import * as v from 'valibot';
import type { JobRetries } from '../../core/newsletter/model/job-retries.ts';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const positive = v.pipe(v.number(), v.gtValue(0));

/**
 * The retries of newsletters as JSON: the functions' variable NEWSLETTER_RETRIES, written by
 * lib/constructs/newsletter/job-access.ts.
 */
export const retriesFromJson = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    storage_before_sending: count,
    storage_before_minutes: positive,
    storage_after_sending: count,
    storage_after_minutes: positive,
    storage_pause_seconds: positive,
    provider: count,
    provider_overloaded: count,
    provider_pause_seconds: positive,
  } satisfies Record<keyof JobRetries, v.GenericSchema<number>>),
);
