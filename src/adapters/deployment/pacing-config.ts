import * as v from 'valibot';

const share = v.pipe(v.number(), v.minValue(0), v.maxValue(1));
const positive = v.pipe(v.number(), v.gtValue(0));

const pacingConfig = v.object({
  express_only: share,
  newsletter: share,
  fallback_per_second: positive,
  max_per_second: v.exactOptional(positive),
  max_per_day: v.exactOptional(positive),
  /** Batches of the channel that may run at the same time. */
  workers: v.pipe(v.number(), v.integer(), v.minValue(1)),
});
export type PacingConfig = v.InferOutput<typeof pacingConfig>;

/** The stage's pacing as JSON: the functions' variable PACING, written by lib/constructs/lanes/pacing-config.ts. */
export const pacingFromJson = v.pipe(v.string(), v.parseJson(), pacingConfig);
