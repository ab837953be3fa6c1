import {
  breakerPolicyFromJson,
  indexShardsFromJson,
  pacingFromJson,
  retryPolicyFromJson,
} from '../../../src/adapters/deployment/settings-json.ts';
import {
  allQueueUrls,
  channels,
  type Deployed,
  environment,
  language,
  localOnly,
  name,
  optionalFlag,
  optionalName,
  ports,
  queueUrl,
  sealing,
  sealingAndSearch,
  seconds,
  timeZone,
  wholeNumber,
} from './env-values.ts';

export type { Deployed };

/**
 * The environment of each function: the name, shape and meaning of every variable are declared only here,
 * in newsletter-env.ts, in console-env.ts and in env-values.ts.
 * The construct writes `environment: { … } satisfies Deployed<typeof dispatcherEnv>`, so a missing variable does not compile.
 */

export const dispatcherEnv = /* @__PURE__ */ environment({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  /** Seconds between two scheduled sweeps: a lane with a backlog gets only what became due in this time. */
  SWEEP_INTERVAL_SECONDS: seconds,
  /** A scheduled sweep fills a lane with what it takes in this time. */
  LANE_SECONDS: seconds,
  RETRY_POLICY: retryPolicyFromJson,
  INDEX_SHARDS: indexShardsFromJson,
});

const dueIndexer = {
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  /** Knows the last attempt that was recorded of a row that is put behind older content. */
  NOTIFICATION_RETRY_LOG_TABLE: name,
  /** Holds how many shards the indexes ever had. */
  PIPELINE_STATE_TABLE: name,
  /** Over how many partitions new entries of the indexes are spread. */
  INDEX_SHARDS: indexShardsFromJson,
  RETRY_POLICY: retryPolicyFromJson,
  /** Rows of other channels are set aside. */
  CHANNELS: channels,
  /** Zone of the times that writers write without one. */
  TIME_ZONE: timeZone,
};
export const dueIndexerEnv = /* @__PURE__ */ environment(localOnly, sealingAndSearch, dueIndexer);

export const reconcilerEnv = /* @__PURE__ */ environment(localOnly, sealingAndSearch, dueIndexer, {
  /** Read units that the scan of NotificationLog may use per second. */
  READ_UNITS_PER_SECOND: wholeNumber,
});

export const monitorEnv = /* @__PURE__ */ environment({
  NOTIFICATION_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  ALERTS_TOPIC_ARN: name,
  /** Name of the stack, as the operator commands need it. */
  STACK_NAME: name,
  CHANNELS: channels,
  NOTICES_LANGUAGE: language,
});

const sender = {
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  BREAKER: breakerPolicyFromJson,
  PACING: pacingFromJson,
  LANE_QUEUES: allQueueUrls,
  RETRY_POLICY: retryPolicyFromJson,
  /** How long a claim lasts: longer than the function can run, so that the holder of an expired claim has crashed. */
  CLAIM_SECONDS: seconds,
  SEND_TIMEOUT_SECONDS: seconds,
  /** The names of the secrets with credentials are `<prefix><channel>/<integration_config_id>`. */
  INTEGRATION_SECRET_PREFIX: optionalName,
};
export const senderEnv = /* @__PURE__ */ environment(localOnly, sealing, sender);

/** Senders that post to URLs which tenants choose. */
export const postingEnv = /* @__PURE__ */ environment(localOnly, sealing, sender, { WEBHOOK_PORTS: ports });

export const emailEnv = /* @__PURE__ */ environment(localOnly, sealing, sender, {
  EMAIL_SENDER: name,
  /** Used when an integration names no configuration set of its own. */
  SES_CONFIGURATION_SET: name,
});

export const deliveryEventsEnv = /* @__PURE__ */ environment({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  DELIVERY_EVENTS_QUEUE: queueUrl,
  RETRY_POLICY: retryPolicyFromJson,
});

export const apiIntakeEnv = /* @__PURE__ */ environment(localOnly, sealingAndSearch, {
  INDEX_SHARDS: indexShardsFromJson,
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  RETRY_POLICY: retryPolicyFromJson,
});

export const apiNotificationsEnv = /* @__PURE__ */ environment({
  /** `true`: the stage has none, and the OpenAPI document does not offer them. */
  WITHOUT_NEWSLETTERS: optionalFlag,
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  RETRY_POLICY: retryPolicyFromJson,
});

export const outcomesEnv = /* @__PURE__ */ environment({
  OUTCOMES_BUS: name,
  /** Absent in a stage without newsletters. */
  MEMBERS_TABLE: optionalName,
});

const tokenEnv = {
  /** Secret with the key that signs the tokens of web pages. */
  TOKEN_SECRET: optionalName,
};

export const apiAuthorizerEnv = /* @__PURE__ */ environment(localOnly, tokenEnv, { API_KEYS_TABLE: name });

export const apiTokensEnv = /* @__PURE__ */ environment(localOnly, tokenEnv, {
  /** Counts requests. */
  PIPELINE_STATE_TABLE: name,
});

/** Set by the local runtime in addition to the variables of the template. */
export type LocalOnlyEnv = Record<keyof typeof localOnly, string>;
