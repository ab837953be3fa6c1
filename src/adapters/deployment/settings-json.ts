import * as v from 'valibot';
import { BREAKER_SETTINGS, breakerPolicyOf } from '../../core/breaker/breaker-policy.ts';
import { INDEX_SHARD_SETTINGS } from '../../core/model/index-shards.ts';
import { RETRY_SETTINGS, retryPolicyOf } from '../../core/model/retry-policy.ts';
import type { Configured, NamedSettings, NumberSetting } from '../../core/model/setting.ts';
import { PACING_SETTINGS, PACING_WORKERS } from '../../core/pacing/pacing-policy.ts';

/**
 * A function's variable with settings as JSON, as lib/config/settings-json.ts writes it. The range is the stage's affair:
 * the local runtime and the benchmarks go beyond it, so only what no function could work with is refused.
 * @param more what the variable holds beside settings of a stage
 */
/* @__NO_SIDE_EFFECTS__ */
export function settingsFromJson<S extends NamedSettings, M extends NamedSettings = Record<never, never>>(
  settings: S,
  more?: M,
) {
  const all = Object.values<NamedSettings[string]>({ ...settings, ...more });
  const schema: unknown = v.object(Object.fromEntries(all.map((one) => [one.name, schemaOf(one, one.standard)])));
  return v.pipe(v.string(), v.parseJson(), schema as v.GenericSchema<unknown, Configured<S> & Configured<M>>);
}

function schemaOf(setting: NumberSetting, standard: NumberSetting['standard']): v.GenericSchema {
  if (typeof standard === 'object') {
    return v.object(Object.fromEntries(Object.entries(standard).map(([name, one]) => [name, schemaOf(setting, one)])));
  }
  const { from, to, whole, orZero } = setting;
  const number = v.pipe(
    v.number(),
    v.check((value) => value > 0 || (value === 0 && (from === 0 || orZero === true))),
    v.check((value) => !whole || Number.isInteger(value)),
    // Only shares end at 1.
    v.check((value) => to > 1 || value <= 1),
  );
  return standard === undefined ? v.exactOptional(number) : number;
}

/** The same, in the units of the domain. */
/* @__NO_SIDE_EFFECTS__ */
function transformed<From, To>(schema: v.GenericSchema<string, From>, to: (values: From) => To) {
  return v.pipe(schema, v.transform(to));
}

/** The variable RETRY_POLICY, and the stack's output RetryPolicy. */
export const retryPolicyFromJson = transformed(settingsFromJson(RETRY_SETTINGS), retryPolicyOf);

export const breakerPolicyFromJson = transformed(settingsFromJson(BREAKER_SETTINGS), breakerPolicyOf);

export const pacingFromJson = settingsFromJson(PACING_SETTINGS, PACING_WORKERS);

export type PacingConfig = v.InferOutput<typeof pacingFromJson>;

export const indexShardsFromJson = settingsFromJson(INDEX_SHARD_SETTINGS);
