import * as v from 'valibot';
import { breakerPolicyFromJson } from '../../../src/adapters/deployment/breaker-config.ts';
import { indexShardsFromJson } from '../../../src/adapters/deployment/index-shards-config.ts';
import { pacingFromJson } from '../../../src/adapters/deployment/pacing-config.ts';
import { retryPolicyFromJson } from '../../../src/adapters/deployment/retry-policy-config.ts';
import { isTimeZone } from '../../../src/core/model/time.ts';
import { allQueueUrls, type Deployed, localOnly, name, seconds } from './env-values.ts';

/**
 * The environment of each function: the name, shape and meaning of every variable are declared only here,
 * in newsletter-env.ts, in console-env.ts and in env-values.ts.
 * The construct writes `environment: { … } satisfies DispatcherEnv`, so a missing variable does not compile.
 */

const timeZone = v.pipe(v.string(), v.check(isTimeZone, 'must be a time zone, such as Asia/Tokyo'));

export const dispatcherEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  /** Seconds between two scheduled sweeps: a lane with a backlog gets only what became due in this time. */
  SWEEP_INTERVAL_SECONDS: seconds,
  /** A scheduled sweep fills a lane with what it takes in this time. */
  LANE_SECONDS: seconds,
  RETRY_POLICY: retryPolicyFromJson,
  INDEX_SHARDS: indexShardsFromJson,
});

export const dueIndexerEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  /** Holds how many shards the indexes ever had. */
  PIPELINE_STATE_TABLE: name,
  /** Over how many partitions new entries of the indexes are spread. */
  INDEX_SHARDS: indexShardsFromJson,
  /** The tenants' data keys, by which recipients are encrypted. */
  DATA_KEYS_TABLE: name,
  RETRY_POLICY: retryPolicyFromJson,
  /** Zone of the times that writers write without one. */
  TIME_ZONE: v.optional(timeZone, 'UTC'),
  /** KMS key that wraps the data keys. */
  RECIPIENT_KEY_ARN: v.optional(name),
  /** Secret with the key of the hash by which recipients are searched. */
  RECIPIENT_HASH_SECRET: v.optional(name),
  ...localOnly,
});

export const reconcilerEnv = v.object({
  ...dueIndexerEnv.entries,
  /** Read units that the scan of NotificationLog may use per second. */
  READ_UNITS_PER_SECOND: v.pipe(
    v.string(),
    v.regex(/^[1-9]\d*$/, 'must be a whole number, 1 or more'),
    v.transform(Number),
  ),
});

export const monitorEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  /** SNS topic of the stage's operators. */
  ALERTS_TOPIC_ARN: name,
  /** Name of the stack, as the operator commands need it. */
  STACK_NAME: name,
});

export const senderEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  DATA_KEYS_TABLE: name,
  BREAKER: breakerPolicyFromJson,
  PACING: pacingFromJson,
  LANE_QUEUES: allQueueUrls,
  RETRY_POLICY: retryPolicyFromJson,
  /** How long a claim lasts: longer than the function can run, so that the holder of an expired claim is dead. */
  CLAIM_SECONDS: seconds,
  /** Longest wait for the answer of the provider. */
  SEND_TIMEOUT_SECONDS: seconds,
  RECIPIENT_KEY_ARN: v.optional(name),
  /** The names of the secrets with credentials are `<prefix><integration_config_id>`. */
  INTEGRATION_SECRET_PREFIX: v.optional(name),
  /** Prefix of secrets from before each channel had its own. */
  INTEGRATION_SECRET_OLD_PREFIX: v.optional(name),
  ...localOnly,
});

/** Ports as text with commas, such as `443,8443`. */
const ports = v.pipe(
  v.string(),
  v.regex(/^\d{1,5}(?:,\d{1,5})*$/, 'must be port numbers with commas between them'),
  v.transform((text) => text.split(',').map(Number)),
);

/** Senders that post to URLs which tenants choose. */
export const postingEnv = v.object({
  ...senderEnv.entries,
  /** Ports to which they post. */
  WEBHOOK_PORTS: v.optional(ports, '443'),
});

export const emailEnv = v.object({
  ...senderEnv.entries,
  /** Verified sender address of this stage. */
  EMAIL_SENDER: name,
  /** Used when an integration names no configuration set of its own. */
  SES_CONFIGURATION_SET: name,
});

export const deliveryEventsEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  /** Queue that feeds the function. */
  DELIVERY_EVENTS_QUEUE: v.pipe(v.string(), v.url()),
  RETRY_POLICY: retryPolicyFromJson,
});

export const apiIntakeEnv = v.object({
  INDEX_SHARDS: indexShardsFromJson,
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  DATA_KEYS_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  RETRY_POLICY: retryPolicyFromJson,
  RECIPIENT_KEY_ARN: v.optional(name),
  RECIPIENT_HASH_SECRET: v.optional(name),
  ...localOnly,
});

export const apiNotificationsEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  RETRY_POLICY: retryPolicyFromJson,
});

const tokenEnv = {
  /** Secret with the key that signs the tokens of web pages. */
  TOKEN_SECRET: v.optional(name),
  ...localOnly,
};

export const apiAuthorizerEnv = v.object({
  API_KEYS_TABLE: name,
  ...tokenEnv,
});

export const apiTokensEnv = v.object({
  /** Counts requests. */
  PIPELINE_STATE_TABLE: name,
  ...tokenEnv,
});

export type DispatcherEnv = Deployed<typeof dispatcherEnv>;
export type DueIndexerEnv = Deployed<typeof dueIndexerEnv>;
export type ReconcilerEnv = Deployed<typeof reconcilerEnv>;
export type MonitorEnv = Deployed<typeof monitorEnv>;
export type ApiIntakeEnv = Deployed<typeof apiIntakeEnv>;
export type ApiNotificationsEnv = Deployed<typeof apiNotificationsEnv>;
export type ApiAuthorizerEnv = Deployed<typeof apiAuthorizerEnv>;
export type ApiTokensEnv = Deployed<typeof apiTokensEnv>;
export type SenderEnv = Deployed<typeof senderEnv>;
export type PostingEnv = Deployed<typeof postingEnv>;
export type EmailEnv = Deployed<typeof emailEnv>;
export type DeliveryEventsEnv = Deployed<typeof deliveryEventsEnv>;
/** Set by the local runtime in addition to the variables of the template. */
export type LocalOnlyEnv = Record<keyof typeof localOnly, string>;

/** RETRY_POLICY, BREAKER and PACING before they are written as JSON. */
export type { BreakerConfig } from '../../../src/adapters/deployment/breaker-config.ts';
export type { PacingConfig } from '../../../src/adapters/deployment/pacing-config.ts';
export type { RetryPolicyConfig } from '../../../src/adapters/deployment/retry-policy-config.ts';

/**
 * Reads and checks a function's environment.
 * @throws Error that names every variable that is missing or malformed, and says what it should be.
 */
export function parseEnv<S extends v.GenericSchema>(schema: S, env: NodeJS.ProcessEnv): v.InferOutput<S> {
  const parsed = v.safeParse(schema, env);
  if (parsed.success) return parsed.output;
  const faults = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'environment'}: ${issue.message}`);
  throw new Error(`The function's environment is incomplete or malformed: ${faults.join('; ')}`);
}
