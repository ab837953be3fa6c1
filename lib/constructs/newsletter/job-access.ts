import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { NewsletterClockEnv } from '../../../functions/shared/runtime/newsletter-env.ts';
import { jobRetriesJson } from '../../config/settings-json.ts';
import { allow } from '../function/permissions.ts';
import type { NewsletterProps } from './newsletter-props.ts';

/** What every function needs that moves an email on. */
export function jobEnvironment({
  config,
  newsletterTables,
  queues,
}: Pick<NewsletterProps, 'config' | 'newsletterTables' | 'queues'>) {
  return {
    EMAILS_TABLE: newsletterTables.emails.tableName,
    EMAIL_BATCHES_TABLE: newsletterTables.batches.tableName,
    NEWSLETTER_PREPARE_QUEUE: queues.prepare.queueUrl,
    NEWSLETTER_SEND_QUEUE: queues.send.queueUrl,
    BATCH_CONCURRENCY: String(config.newsletter.batchConcurrency),
    NEWSLETTER_RETRIES: jobRetriesJson(config),
    UNCERTAIN_MINUTES: String(config.newsletter.uncertainMinutes),
  } satisfies NewsletterClockEnv;
}

/** What every function needs that reads or writes recipients: the tables, and the keys that seal them. */
export function recipientEnvironment({
  tables,
  newsletterTables: { emails, batches, recipients, members },
  encryption,
}: Pick<NewsletterProps, 'tables' | 'newsletterTables' | 'encryption'>) {
  return {
    EMAILS_TABLE: emails.tableName,
    EMAIL_BATCHES_TABLE: batches.tableName,
    EMAIL_RECIPIENTS_TABLE: recipients.tableName,
    MEMBERS_TABLE: members.tableName,
    DATA_KEYS_TABLE: tables.dataKeys.tableName,
    RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
  };
}

/** Every part of the job may start the next one. */
export function sendMessages({ prepare, send }: NewsletterProps['queues']): PolicyStatement[] {
  return [allow(['sqs:SendMessage'], [prepare.queueArn, send.queueArn])];
}
