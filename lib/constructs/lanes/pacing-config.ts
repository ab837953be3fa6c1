import type { PacingConfig } from '../../../functions/shared/runtime/env.ts';
import type { StageConfig } from '../../config/stage-config.ts';

/** The stage's pacing settings as the variable PACING. @param workers batches that share the budgets at most */
export function pacingJson({ pacing }: Pick<StageConfig, 'pacing'>, workers: number): string {
  return JSON.stringify({
    express_only: pacing.expressShare,
    newsletter: pacing.newsletterShare,
    fallback_per_second: pacing.fallbackPerSecond,
    ...(pacing.maxPerSecond !== undefined && { max_per_second: pacing.maxPerSecond }),
    ...(pacing.maxPerDay !== undefined && { max_per_day: pacing.maxPerDay }),
    workers,
  } satisfies PacingConfig);
}
