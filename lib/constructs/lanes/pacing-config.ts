import type { PacingConfig } from '../../../functions/shared/runtime/env.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** The stage's pacing settings as the variable PACING of a channel function. */
export function pacingJson({ pacing, concurrency }: StageConfig, channel: Channel): string {
  const { express, standard } = concurrency[channel];
  return JSON.stringify({
    express_only: pacing.expressShare,
    newsletter: pacing.newsletterShare,
    fallback_per_second: pacing.fallbackPerSecond,
    ...(pacing.maxPerSecond !== undefined && { max_per_second: pacing.maxPerSecond }),
    ...(pacing.maxPerDay !== undefined && { max_per_day: pacing.maxPerDay }),
    workers: express + standard,
  } satisfies PacingConfig);
}
