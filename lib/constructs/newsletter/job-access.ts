import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Deployed, newsletterClockEnv } from '../../../functions/shared/runtime/newsletter-env.ts';
import { jobRetriesJson } from '../../config/settings-json.ts';
import { allow } from '../function/permissions.ts';
import type { NewsletterStage } from '../stage.ts';
import type { NewsletterTables } from '../storage/tables.ts';

/** The newsletters' storage, before there are queues. */
export type NewsletterRecipients = Omit<NewsletterStage, 'newsletterQueues'>;

/** What every function needs that moves an email on. */
export function jobEnvironment({
  config,
  newsletterTables,
  newsletterQueues: queues,
}: Pick<NewsletterStage, 'config' | 'newsletterTables' | 'newsletterQueues'>) {
  return {
    EMAILS_TABLE: newsletterTables.emails.tableName,
    EMAIL_BATCHES_TABLE: newsletterTables.batches.tableName,
    NEWSLETTER_PREPARE_QUEUE: queues.prepare.queueUrl,
    NEWSLETTER_SEND_QUEUE: queues.send.queueUrl,
    BATCH_CONCURRENCY: String(config.newsletter.batchConcurrency),
    NEWSLETTER_RETRIES: jobRetriesJson(config),
    UNCERTAIN_MINUTES: String(config.newsletter.uncertainMinutes),
  } satisfies Deployed<typeof newsletterClockEnv>;
}

export function recipientTables({ emails, batches, recipients, members }: NewsletterTables) {
  return {
    EMAILS_TABLE: emails.tableName,
    EMAIL_BATCHES_TABLE: batches.tableName,
    EMAIL_RECIPIENTS_TABLE: recipients.tableName,
    MEMBERS_TABLE: members.tableName,
  };
}

/** What every function needs that reads or writes recipients: the tables, and the keys that seal them. */
export function recipientEnvironment({
  tables,
  newsletterTables,
  encryption,
}: Pick<NewsletterStage, 'tables' | 'newsletterTables' | 'encryption'>) {
  return {
    ...recipientTables(newsletterTables),
    DATA_KEYS_TABLE: tables.dataKeys.tableName,
    RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
  };
}

/** Every part of the job may start the next one. */
export function sendMessages({ prepare, send }: NewsletterStage['newsletterQueues']): PolicyStatement {
  return allow(['sqs:SendMessage'], [prepare.queueArn, send.queueArn]);
}
