import * as v from 'valibot';
import { breakerPolicyFromJson } from '../../../src/adapters/deployment/breaker-config.ts';
import { indexShardsFromJson } from '../../../src/adapters/deployment/index-shards-config.ts';
import { pacingFromJson } from '../../../src/adapters/deployment/pacing-config.ts';
import { retryPolicyFromJson } from '../../../src/adapters/deployment/retry-policy-config.ts';
import { CHANNELS, LANES } from '../../../src/core/model/channels.ts';
import { isTimeZone } from '../../../src/core/model/time.ts';

/**
 * The environment of each function: the name, shape and meaning of every variable are declared only here.
 * The construct writes `environment: { … } satisfies DispatcherEnv`, so a missing variable does not compile.
 */

const name = v.pipe(v.string(), v.minLength(1));
const seconds = v.pipe(v.string(), v.regex(/^\d+$/, 'must be a whole number of seconds'), v.transform(Number));
const timeZone = v.pipe(v.string(), v.check(isTimeZone, 'must be a time zone, such as Asia/Tokyo'));
const json = <T extends v.GenericSchema>(schema: T) => v.pipe(v.string(), v.parseJson(), schema);
const queueUrls = v.object(v.entriesFromList(LANES, v.pipe(v.string(), v.url())));
/** Queue URLs as JSON: `{"email":{"express":url,"standard":url},…}`. */
const allQueueUrls = json(v.object(v.entriesFromList(CHANNELS, queueUrls)));
const flag = v.pipe(
  v.picklist(['true', 'false']),
  v.transform((text) => text === 'true'),
);

/** Variables that only the local runtime sets. */
const localOnly = {
  /** File with credentials by integration_config_id and with the local keys, instead of Secrets Manager and KMS. */
  LOCAL_SECRETS_FILE: v.optional(name),
  /** `true` allows webhooks to private and loopback addresses and over plain http. */
  ALLOW_PRIVATE_TARGETS: v.optional(flag, 'false'),
  /** Base URL of Slack's Web API, if it is not Slack's own. */
  SLACK_API_URL: v.optional(v.pipe(v.string(), v.url())),
  /** Seconds without a sign of life after which a newsletter's sender counts as dead; longer than a call to SES. */
  NEWSLETTER_PATIENCE_SECONDS: v.optional(seconds, '120'),
};

export const dispatcherEnv = v.object({
  NOTIFICATION_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  /** Seconds between two scheduled sweeps: a lane with a backlog gets only what became due in this time. */
  SWEEP_INTERVAL_SECONDS: seconds,
  /** A scheduled sweep fills a lane with what it takes in this time. */
  LANE_SECONDS: seconds,
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

export const apiNewslettersEnv = v.object({
  NEWSLETTERS_TABLE: name,
  MEMBERS_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  DATA_KEYS_TABLE: name,
  RECIPIENT_KEY_ARN: v.optional(name),
  RECIPIENT_HASH_SECRET: v.optional(name),
  ...localOnly,
});

const newsletterTables = {
  EMAILS_TABLE: name,
  EMAIL_BATCHES_TABLE: name,
  EMAIL_RECIPIENTS_TABLE: name,
};
const queueUrl = v.pipe(v.string(), v.url());

const wholeNumber = v.pipe(v.string(), v.regex(/^[1-9]\d*$/, 'must be a whole number above 0'), v.transform(Number));

/** What every function needs that moves an email on. */
const newsletterJob = {
  EMAILS_TABLE: name,
  EMAIL_BATCHES_TABLE: name,
  NEWSLETTER_PREPARE_QUEUE: queueUrl,
  NEWSLETTER_SEND_QUEUE: queueUrl,
  /** Batches of one email that are sent at once. */
  BATCH_CONCURRENCY: wholeNumber,
  ...localOnly,
};

export const apiEmailsEnv = v.object({
  ...newsletterJob,
  EMAIL_RECIPIENTS_TABLE: name,
  NEWSLETTERS_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  DATA_KEYS_TABLE: name,
  /** Group of the one-time schedules, the role that they take, and the ARN of the queue that they send to. */
  SCHEDULE_GROUP: name,
  SCHEDULE_ROLE_ARN: name,
  SCHEDULE_TARGET_ARN: name,
  /** Test mails are sent with it, too. Their tags name no batch, so their events count for nobody. */
  NEWSLETTER_CONFIGURATION_SET: name,
  RECIPIENT_KEY_ARN: v.optional(name),
  ...localOnly,
});

export const newsletterClockEnv = v.object(newsletterJob);

export const newsletterPrepareEnv = v.object({
  ...newsletterJob,
  EMAIL_RECIPIENTS_TABLE: name,
  MEMBERS_TABLE: name,
  /** Holds the warming allowances of sending domains. */
  PIPELINE_STATE_TABLE: name,
  DATA_KEYS_TABLE: name,
  RECIPIENT_KEY_ARN: v.optional(name),
  ...localOnly,
});

export const newsletterSendEnv = v.object({
  ...newsletterJob,
  EMAIL_RECIPIENTS_TABLE: name,
  /** Read again when a chunk goes out: who unsubscribed meanwhile gets no mail. */
  MEMBERS_TABLE: name,
  /** Holds the budget of e-mail. */
  PIPELINE_STATE_TABLE: name,
  PACING: pacingFromJson,
  DATA_KEYS_TABLE: name,
  NEWSLETTER_CONFIGURATION_SET: name,
  /** Base URL of the unsubscribe links, without a slash at the end. */
  API_URL: queueUrl,
  RECIPIENT_KEY_ARN: v.optional(name),
  RECIPIENT_HASH_SECRET: v.optional(name),
  UNSUBSCRIBE_SECRET: v.optional(name),
  ...localOnly,
});

export const newsletterEventsEnv = v.object({
  ...newsletterTables,
  MEMBERS_TABLE: name,
  DATA_KEYS_TABLE: name,
  RECIPIENT_KEY_ARN: v.optional(name),
  RECIPIENT_HASH_SECRET: v.optional(name),
  ...localOnly,
});

export const unsubscribeEnv = v.object({
  ...newsletterTables,
  MEMBERS_TABLE: name,
  DATA_KEYS_TABLE: name,
  RECIPIENT_KEY_ARN: v.optional(name),
  RECIPIENT_HASH_SECRET: v.optional(name),
  /** Secret with the keys that sign the links: `{"current":"k1","keys":{"k1":"…"}}`, or the text of one key. */
  UNSUBSCRIBE_SECRET: v.optional(name),
  ...localOnly,
});

export const apiAuthorizerEnv = v.object({
  API_KEYS_TABLE: name,
});

/** The variables that the construct has to set, as text. */
type Texts<S extends v.GenericSchema> = { [K in keyof v.InferInput<S>]: string };
type Deployed<S extends v.GenericSchema> = Omit<Required<Texts<S>>, keyof typeof localOnly>;
export type DispatcherEnv = Deployed<typeof dispatcherEnv>;
export type DueIndexerEnv = Deployed<typeof dueIndexerEnv>;
export type ReconcilerEnv = Deployed<typeof reconcilerEnv>;
export type MonitorEnv = Deployed<typeof monitorEnv>;
export type ApiIntakeEnv = Deployed<typeof apiIntakeEnv>;
export type ApiNotificationsEnv = Deployed<typeof apiNotificationsEnv>;
export type ApiNewslettersEnv = Deployed<typeof apiNewslettersEnv>;
export type NewsletterClockEnv = Deployed<typeof newsletterClockEnv>;
export type NewsletterPrepareEnv = Deployed<typeof newsletterPrepareEnv>;
export type NewsletterSendEnv = Deployed<typeof newsletterSendEnv>;
export type ApiEmailsEnv = Deployed<typeof apiEmailsEnv>;
export type NewsletterEventsEnv = Deployed<typeof newsletterEventsEnv>;
export type UnsubscribeEnv = Deployed<typeof unsubscribeEnv>;
export type ApiAuthorizerEnv = Deployed<typeof apiAuthorizerEnv>;
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
