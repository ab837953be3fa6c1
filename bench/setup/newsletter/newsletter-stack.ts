import { createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createNewsletterQueues } from '../../../src/adapters/sqs/newsletter-queues.ts';
import { publishEmail } from '../../../src/core/newsletter/lifecycle/publish.ts';
import type { Email } from '../../../src/core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../../src/core/newsletter/model/job-limits.ts';
import type { AwsClients } from '../../../src/local/emulator/aws-clients.ts';
import type { FunctionPlan } from '../../../src/local/emulator/template/functions.ts';
import { bodyOf } from '../body.ts';
import { NEWSLETTER, TENANT } from './audience.ts';

/** The names of the tables and queues of newsletters, from the environment of the function that prepares. */
export function newsletterNames({ environment }: FunctionPlan) {
  const name = (variable: string) => {
    const value = environment[variable];
    if (value === undefined) throw new Error(`newsletter-prepare has no ${variable} in its environment`);
    return value;
  };
  return {
    emails: name('EMAILS_TABLE'),
    batches: name('EMAIL_BATCHES_TABLE'),
    recipients: name('EMAIL_RECIPIENTS_TABLE'),
    members: name('MEMBERS_TABLE'),
    data_keys: name('DATA_KEYS_TABLE'),
    prepare: name('NEWSLETTER_PREPARE_QUEUE'),
    send: name('NEWSLETTER_SEND_QUEUE'),
  };
}

export type NewsletterNames = ReturnType<typeof newsletterNames>;

/** A post of the length of a usual newsletter, with merge fields. */
const POST = `# News\n\nDear {name, "reader"},\n\n${bodyOf(20_000)}`;
export const POST_NOTE = 'a post of 20 KB with a name';

/** Publishes an email as the API does, after its checks. */
export function publish(email_id: string, names: NewsletterNames, { dynamodb, sqs }: AwsClients): Promise<Email> {
  const clock = () => new Date();
  const at = clock().toISOString();
  return publishEmail(
    {
      email_id,
      request_hash: email_id,
      tenant_id: TENANT,
      content: {
        subject: 'The week, {name, "reader"}',
        body: POST,
        format: 'markdown',
        newsletter: {
          tenant_id: TENANT,
          newsletter_id: NEWSLETTER,
          name: 'Weekly',
          from: 'Weekly <news@example.com>',
          created_at: at,
          updated_at: at,
        },
      },
    },
    {
      emails: createEmailStore(dynamodb, names.emails, clock),
      queues: createNewsletterQueues(sqs, names),
      schedules: { create: async () => {}, remove: async () => {} },
      clock,
      limits: DEFAULT_JOB_LIMITS,
    },
  );
}
