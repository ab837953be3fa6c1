import * as v from 'valibot';
import { breakerPolicyFromJson } from '../../../src/adapters/deployment/breaker-config.ts';
import { retryPolicyFromJson } from '../../../src/adapters/deployment/retry-policy-config.ts';
import { CHANNELS, LANES, type PerLane } from '../../../src/core/model/channels.ts';

/**
 * The environment of each function: every variable's name, shape and meaning is declared here and nowhere else.
 * The construct writes `environment: { … } satisfies DispatcherEnv`, so a missing one does not compile.
 */

const name = v.pipe(v.string(), v.minLength(1));
const seconds = v.pipe(v.string(), v.regex(/^\d+$/, 'must be a whole number of seconds'), v.transform(Number));
const json = <T extends v.GenericSchema>(schema: T) => v.pipe(v.string(), v.parseJson(), schema);
const queueUrls = v.object(v.entriesFromList(LANES, v.pipe(v.string(), v.url())));
/** Queue URLs as JSON: `{"email":{"express":url,"standard":url},…}`. */
const allQueueUrls = json(v.object(v.entriesFromList(CHANNELS, queueUrls)));
const flag = v.pipe(
  v.picklist(['true', 'false']),
  v.transform((text) => text === 'true'),
);

/** Keys only the local runtime sets; on AWS they are absent. */
const localOnly = {
  /** File with credentials by integration_config_id and the local keys, in place of Secrets Manager and KMS. */
  LOCAL_SECRETS_FILE: v.optional(name),
  /** `true` lets webhooks reach private and loopback addresses and plain http. */
  ALLOW_PRIVATE_TARGETS: v.optional(flag, 'false'),
  /** Base URL of Slack's Web API when it is not Slack's own. */
  SLACK_API_URL: v.optional(v.pipe(v.string(), v.url())),
};

export const dispatcherEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  /** Seconds between two scheduled sweeps: a lane with a backlog gets only what became due within them. */
  SWEEP_INTERVAL_SECONDS: seconds,
});

export const dueIndexerEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  RETRY_POLICY: retryPolicyFromJson,
  /** KMS key that wraps the data keys of recipients. */
  RECIPIENT_KEY_ARN: v.optional(name),
  /** Secret with the key of the recipients' searchable hash. */
  RECIPIENT_HASH_SECRET: v.optional(name),
  ...localOnly,
});

export const monitorEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  /** SNS topic of whoever operates the stage. */
  ALERTS_TOPIC_ARN: name,
  /** Name of the stack, by which the operator commands find it. */
  STACK_NAME: name,
});

export const senderEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  BREAKER: breakerPolicyFromJson,
  LANE_QUEUES: allQueueUrls,
  RETRY_POLICY: retryPolicyFromJson,
  /** How long a claim lasts: longer than the function can live, so that an expired claim's holder is dead. */
  CLAIM_SECONDS: seconds,
  /** Longest wait for the provider's answer. */
  SEND_TIMEOUT_SECONDS: seconds,
  RECIPIENT_KEY_ARN: v.optional(name),
  /** Credentials are secrets named `<prefix><integration_config_id>`. */
  INTEGRATION_SECRET_PREFIX: v.optional(name),
  ...localOnly,
});

export const emailEnv = v.object({
  ...senderEnv.entries,
  /** Verified sender address of this stage. */
  EMAIL_SENDER: name,
  /** Where an integration names none of its own. */
  SES_CONFIGURATION_SET: name,
});

export const deliveryEventsEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  /** Queue that the function is fed from. */
  DELIVERY_EVENTS_QUEUE: v.pipe(v.string(), v.url()),
  RETRY_POLICY: retryPolicyFromJson,
});

export const apiIntakeEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
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

export const apiAuthorizerEnv = v.object({
  API_KEYS_TABLE: name,
});

/** What the construct has to set: the variable names, as text. */
type Texts<S extends v.GenericSchema> = { [K in keyof v.InferInput<S>]: string };
type Deployed<S extends v.GenericSchema> = Omit<Required<Texts<S>>, keyof typeof localOnly>;
export type DispatcherEnv = Deployed<typeof dispatcherEnv>;
export type DueIndexerEnv = Deployed<typeof dueIndexerEnv>;
export type MonitorEnv = Deployed<typeof monitorEnv>;
export type ApiIntakeEnv = Deployed<typeof apiIntakeEnv>;
export type ApiNotificationsEnv = Deployed<typeof apiNotificationsEnv>;
export type ApiAuthorizerEnv = Deployed<typeof apiAuthorizerEnv>;
export type SenderEnv = Deployed<typeof senderEnv>;
export type EmailEnv = Deployed<typeof emailEnv>;
export type DeliveryEventsEnv = Deployed<typeof deliveryEventsEnv>;
/** Set by the local runtime on top of what the template says. */
export type LocalOnlyEnv = Record<keyof typeof localOnly, string>;

/** LANE_QUEUES, RETRY_POLICY and BREAKER before they are written as JSON. */
export type LaneQueues = PerLane<string>;
export type { BreakerConfig } from '../../../src/adapters/deployment/breaker-config.ts';
export type { RetryPolicyConfig } from '../../../src/adapters/deployment/retry-policy-config.ts';

/**
 * Reads and checks a function's environment.
 * @throws Error that names every variable that is missing or malformed, and what it should be.
 */
export function parseEnv<S extends v.GenericSchema>(schema: S, env: NodeJS.ProcessEnv): v.InferOutput<S> {
  const parsed = v.safeParse(schema, env);
  if (parsed.success) return parsed.output;
  const faults = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'environment'}: ${issue.message}`);
  throw new Error(`The function's environment is incomplete or malformed: ${faults.join('; ')}`);
}
