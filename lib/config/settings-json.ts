import { BREAKER_SETTINGS } from '../../src/core/breaker/breaker-policy.ts';
import { INDEX_SHARD_SETTINGS } from '../../src/core/model/index-shards.ts';
import { RETRY_SETTINGS } from '../../src/core/model/retry-policy.ts';
import type { NamedSettings } from '../../src/core/model/setting.ts';
import { JOB_RETRY_SETTINGS } from '../../src/core/newsletter/model/job-limits.ts';
import { PACING_SETTINGS } from '../../src/core/pacing/pacing-policy.ts';
import type { Values } from './setting-types.ts';
import type { StageConfig } from './stage-config.ts';

/**
 * Settings as a variable of the functions has them (src/adapters/deployment/settings-json.ts reads it): JSON by the
 * names of their declarations.
 * @param more what the variable holds beside settings
 */
export function settingsJson<S extends NamedSettings>(settings: S, values: Values<S>, more: object = {}): string {
  const given = values as Readonly<Record<string, unknown>>;
  const named = Object.entries(settings).map(([key, { name }]) => [name, given[key]]);
  return JSON.stringify({ ...Object.fromEntries(named), ...more });
}

/** The variable RETRY_POLICY, and the stack's output RetryPolicy. */
export const retryPolicyJson = (config: StageConfig) => settingsJson(RETRY_SETTINGS, config);
export const breakerJson = ({ breaker }: StageConfig) => settingsJson(BREAKER_SETTINGS, breaker);
/** The variable PACING. @param workers batches that share the budgets at most */
export const pacingJson = ({ pacing }: Pick<StageConfig, 'pacing'>, workers: number) =>
  settingsJson(PACING_SETTINGS, pacing, { workers });
export const indexShardsJson = ({ indexShards }: StageConfig) => settingsJson(INDEX_SHARD_SETTINGS, indexShards);
export const jobRetriesJson = ({ newsletter }: StageConfig) => settingsJson(JOB_RETRY_SETTINGS, newsletter);
