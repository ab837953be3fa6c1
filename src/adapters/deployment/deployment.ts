import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';
import { BREAKER_LIMIT, BREAKER_SETTINGS, breakerPolicyOf } from '../../core/breaker/breaker-policy.ts';
import type { Channel, StageLanes } from '../../core/model/channels.ts';
import { INDEX_SHARD_SETTINGS } from '../../core/model/index-shards.ts';
import { RETRY_SETTINGS, type RetryPolicy, retryPolicyOf } from '../../core/model/retry-policy.ts';
import type { Configured, NamedSettings, NumberSetting } from '../../core/model/setting.ts';
import { JOB_RETRY_SETTINGS } from '../../core/newsletter/model/job-retries.ts';
import type { MetricHistory } from '../../core/operator/views/outcome-series.ts';
import { PACING_SETTINGS, PACING_WORKERS } from '../../core/pacing/pacing-policy.ts';
import type { Sealer } from '../sealing/sealer.ts';

/**
 * Where the tables and queues of a deployment are, for commands that work on it from outside. To read what the stage does
 * without throws a Problem that says so (stage-parts.ts).
 */
export interface Deployment {
  readonly tables: {
    readonly notification_log: string;
    readonly notification_content: string;
    readonly notification_retry_log: string;
    readonly pipeline_state: string;
    readonly api_keys: string;
    readonly newsletters: string;
    readonly members: string;
    readonly emails: string;
    readonly email_batches: string;
    readonly email_recipients: string;
    readonly audit: string;
  };
  /** Of the channels that the stage has. */
  readonly lane_queues: StageLanes<string>;
  readonly newsletter_queues: { readonly prepare: string; readonly send: string };
  readonly dead_letter_queues: Readonly<Record<Channel, string>>;
  readonly sweep_interval_seconds: number;
  /** The policy as deployed. A local runtime may run with a shorter base interval. */
  readonly retry_policy: RetryPolicy;
  /** How long a recipient must have been uncertain before `resend` takes it. Absent: deployed before it was set. */
  readonly uncertain_minutes?: number | undefined;
  /**
   * Reads the key of recipientHash.
   * @throws Error that says why the key cannot be read
   */
  readonly recipientHashKey: () => Promise<string>;
  /** Seals and opens what identifies people, with data keys that the given client reads and writes. */
  readonly sealer: (dynamodb: DynamoDBClient) => Sealer;
  /**
   * Waits at most ten seconds until the rows that were put before are in the work index. False when some are not, or
   * when the runtime did not say. Only the local runtime can tell. On AWS the indexer adds rows within about a
   * second, and the next sweep finds what this one missed.
   */
  readonly caughtUp?: () => Promise<boolean>;
  /** Name of the function that `ops reconcile` invokes; absent from a stack that was deployed before it. */
  readonly reconciler?: string;
  /** File with the credentials of the integrations; absent on AWS, where Secrets Manager has them. */
  readonly secrets_file?: string;
  /**
   * What the functions have measured.
   * @throws HistoryUnavailableError
   */
  readonly metricHistory: () => Promise<MetricHistory>;
  /** The URL of the intake API, if known. */
  readonly api?: string;
  /** Options of the SDK's clients; empty on AWS, where the SDK's own defaults apply. */
  readonly clients: {
    readonly dynamodb: ClientOptions;
    readonly sqs: ClientOptions;
    readonly lambda?: ClientOptions;
    readonly ses?: ClientOptions;
  };
}

interface ClientOptions {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** The deployment was not found. The message says what to do. */
export class DeploymentNotFoundError extends Error {
  override readonly name = 'DeploymentNotFoundError';
}

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
export const breakerPolicyFromJson = transformed(settingsFromJson(BREAKER_SETTINGS, BREAKER_LIMIT), breakerPolicyOf);
export const pacingFromJson = settingsFromJson(PACING_SETTINGS, PACING_WORKERS);
export type PacingConfig = v.InferOutput<typeof pacingFromJson>;
export const indexShardsFromJson = settingsFromJson(INDEX_SHARD_SETTINGS);
export const retriesFromJson = settingsFromJson(JOB_RETRY_SETTINGS);
