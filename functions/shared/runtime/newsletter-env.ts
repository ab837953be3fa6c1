import { pacingFromJson, settingsFromJson } from '../../../src/adapters/deployment/settings-json.ts';
import { JOB_RETRY_SETTINGS } from '../../../src/core/newsletter/model/job-limits.ts';
import {
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

/** The environment of the functions that send newsletters, as env.ts declares those of the others. */

export const retriesFromJson = settingsFromJson(JOB_RETRY_SETTINGS);

export const apiNewslettersEnv = /* @__PURE__ */ environment(localOnly, sealingAndSearch, {
  OWN_SENDERS_ONLY: optionalFlag,
  NEWSLETTERS_TABLE: name,
  MEMBERS_TABLE: name,
  PIPELINE_STATE_TABLE: name,
});

const newsletterTables = { EMAILS_TABLE: name, EMAIL_BATCHES_TABLE: name, EMAIL_RECIPIENTS_TABLE: name };

/** What every function needs that moves an email on. */
const newsletterJob = {
  EMAILS_TABLE: name,
  EMAIL_BATCHES_TABLE: name,
  NEWSLETTER_PREPARE_QUEUE: queueUrl,
  NEWSLETTER_SEND_QUEUE: queueUrl,
  BATCH_CONCURRENCY: wholeNumber,
  NEWSLETTER_RETRIES: retriesFromJson,
  /** How long a recipient must have been uncertain before an operator's `resend` takes it. */
  UNCERTAIN_MINUTES: minutes,
};

export const apiEmailsEnv = /* @__PURE__ */ environment(localOnly, newsletterJob, sealing, {
  EMAIL_RECIPIENTS_TABLE: name,
  /** Read by dry runs. */
  MEMBERS_TABLE: name,
  NEWSLETTERS_TABLE: name,
  OWN_SENDERS_ONLY: optionalFlag,
  REQUIRE_ADDRESS: optionalFlag,
  /** Holds the budget of e-mail, and how many test mails a tenant sent. */
  PIPELINE_STATE_TABLE: name,
  PACING: pacingFromJson,
  /** Group of the one-time schedules, the role that they take, and the ARN of the queue that they send to. */
  SCHEDULE_GROUP: name,
  SCHEDULE_ROLE_ARN: name,
  SCHEDULE_TARGET_ARN: name,
  /** Test mails are sent with it, too. Their tags name no batch, so their events count for nobody. */
  NEWSLETTER_CONFIGURATION_SET: name,
  /** Finds whether an address of a test is suppressed. */
  RECIPIENT_HASH_SECRET: optionalName,
});

export const newsletterClockEnv = /* @__PURE__ */ environment(localOnly, newsletterJob);

export const newsletterPrepareEnv = /* @__PURE__ */ environment(localOnly, newsletterJob, sealing, {
  EMAIL_RECIPIENTS_TABLE: name,
  MEMBERS_TABLE: name,
  /** Holds the warming allowances of sending domains. */
  PIPELINE_STATE_TABLE: name,
  /** Days for which addresses of recipients are kept. */
  RECIPIENT_DAYS: wholeNumber,
  REQUIRE_ADDRESS: optionalFlag,
});

export const newsletterSendEnv = /* @__PURE__ */ environment(localOnly, newsletterJob, sealingAndSearch, {
  EMAIL_RECIPIENTS_TABLE: name,
  /** Read again when a chunk goes out: who unsubscribed meanwhile gets no mail. */
  MEMBERS_TABLE: name,
  /** As whom a tenant may be sent. */
  NEWSLETTERS_TABLE: name,
  /** A tenant without senders of its own is sent as nobody. */
  OWN_SENDERS_ONLY: optionalFlag,
  /** Holds the budget of e-mail. */
  PIPELINE_STATE_TABLE: name,
  PACING: pacingFromJson,
  NEWSLETTER_CONFIGURATION_SET: name,
  /** Base URL of the unsubscribe links, without a slash at the end. */
  API_URL: queueUrl,
  UNSUBSCRIBE_SECRET: optionalName,
});

export const newsletterEventsEnv = /* @__PURE__ */ environment(localOnly, newsletterTables, sealingAndSearch, {
  MEMBERS_TABLE: name,
  /** Holds the warming allowances of sending domains: bounces and complaints count for their day. */
  PIPELINE_STATE_TABLE: name,
  /** Of how many refusals a mailing holds. */
  NEWSLETTER_RETRIES: retriesFromJson,
});

export const unsubscribeEnv = /* @__PURE__ */ environment(localOnly, newsletterTables, sealingAndSearch, {
  MEMBERS_TABLE: name,
  /** Secret with the keys that sign the links: `{"current":"k1","keys":{"k1":"…"}}`, or the text of one key. */
  UNSUBSCRIBE_SECRET: optionalName,
});
