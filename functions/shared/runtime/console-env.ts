import * as v from 'valibot';
import { retryPolicyFromJson } from '../../../src/adapters/deployment/settings-json.ts';
import {
  allQueueUrls,
  channelUrls,
  type Deployed,
  environment,
  localOnly,
  minutes,
  name,
  optionalFlag,
  optionalName,
  queueUrl,
  sealing,
  sealingAndSearch,
  wholeNumber,
} from './env-values.ts';

export type { Deployed };

const words = v.pipe(
  v.string(),
  v.transform((text) => text.split(' ').filter((word) => word !== '')),
);

/** The environment of the functions of the deployed console, as env.ts declares those of the others. */

export const consoleApiEnv = /* @__PURE__ */ environment(localOnly, sealingAndSearch, {
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  /** Those of the API and of newsletters are absent in a stage without them. */
  API_KEYS_TABLE: optionalName,
  AUDIT_TABLE: name,
  NEWSLETTERS_TABLE: optionalName,
  MEMBERS_TABLE: optionalName,
  EMAILS_TABLE: optionalName,
  EMAIL_BATCHES_TABLE: optionalName,
  EMAIL_RECIPIENTS_TABLE: optionalName,
  /** These two are absent where newsletters' routes are, as is what verifies the stage. */
  LANE_QUEUES: v.optional(allQueueUrls, '{}'),
  NEWSLETTER_PREPARE_QUEUE: v.optional(queueUrl),
  NEWSLETTER_SEND_QUEUE: v.optional(queueUrl),
  RETRY_POLICY: retryPolicyFromJson,
  BATCH_CONCURRENCY: v.optional(wholeNumber),
  UNCERTAIN_MINUTES: v.optional(minutes),
  OWN_SENDERS_ONLY: optionalFlag,
  REQUIRE_ADDRESS: optionalFlag,
  /** Test mails are sent with it. */
  NEWSLETTER_CONFIGURATION_SET: optionalName,
  /** To ask whose an integration is. */
  INTEGRATION_SECRET_PREFIX: optionalName,
  /** Its messages make a function work on a bulk operation. */
  OPERATIONS_QUEUE: v.optional(queueUrl),
  /** Verifies the stage when it is invoked. */
  VERIFY_FUNCTION: optionalName,
  STACK_NAME: name,
  /** Powertools' own variable: where the functions' metrics are. */
  POWERTOOLS_METRICS_NAMESPACE: name,
  /** Set in a stage without monitoring. */
  POWERTOOLS_METRICS_DISABLED: optionalName,
  /** The claim of the access token that names groups or roles, and its values, separated by spaces. */
  ROLE_CLAIM: name,
  OPERATOR_VALUES: words,
  VIEWER_VALUES: words,
});

/** What works on bulk operations changes notifications, and nothing else. */
export const consoleOperationsEnv = /* @__PURE__ */ environment(localOnly, sealing, {
  NOTIFICATION_LOG_TABLE: name,
  /** A correction puts the content anew. */
  NOTIFICATION_CONTENT_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  LANE_QUEUES: allQueueUrls,
  /** What an operation takes has a letter there that means nothing any more. */
  DEAD_LETTER_QUEUES: channelUrls,
  RETRY_POLICY: retryPolicyFromJson,
  OPERATIONS_QUEUE: queueUrl,
});

/** What verifies the stage reads everything, and writes how far it is. */
export const verifyEnv = /* @__PURE__ */ environment({
  NOTIFICATION_LOG_TABLE: name,
  NOTIFICATION_CONTENT_TABLE: name,
  NOTIFICATION_RETRY_LOG_TABLE: name,
  PIPELINE_STATE_TABLE: name,
  /** Absent in a stage without newsletters. */
  EMAILS_TABLE: optionalName,
  EMAIL_BATCHES_TABLE: optionalName,
  EMAIL_RECIPIENTS_TABLE: optionalName,
  LANE_QUEUES: allQueueUrls,
  DEAD_LETTER_QUEUES: channelUrls,
});
