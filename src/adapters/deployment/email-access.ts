import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { Problem } from '../../core/model/problem.ts';
import type { Clock } from '../../core/model/time.ts';
import type { Email } from '../../core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../core/newsletter/model/job-limits.ts';
import { type EmailView, emailView } from '../../core/newsletter/views/email-view.ts';
import { budgetStatus } from '../../core/pacing/budget-status.ts';
import { createBatchStore } from '../dynamodb/newsletter/batch-store.ts';
import { createChunkStore } from '../dynamodb/newsletter/chunk-store.ts';
import { createEmailStore } from '../dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../dynamodb/newsletter/event-store.ts';
import { createNewsletterStore } from '../dynamodb/newsletter/newsletter-store.ts';
import { createPacingStore } from '../dynamodb/pacing/pacing-store.ts';
import { createNewsletterQueues } from '../sqs/newsletter-queues.ts';
import type { Deployment } from './deployment.ts';

export interface EmailAccessDeps {
  readonly deployment: Deployment;
  readonly dynamodb: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** What commands need that work on emails: the use cases of the API, on the deployment's tables and queues. */
export function emailAccess({ deployment, dynamodb, sqs, clock, newId }: EmailAccessDeps) {
  const { tables, newsletter_queues, uncertain_minutes } = deployment;
  const sealer = deployment.sealer(dynamodb);
  return {
    emails: createEmailStore(dynamodb, tables.emails, clock),
    batches: createBatchStore(dynamodb, tables.email_batches, clock),
    chunks: createChunkStore(dynamodb, { table: tables.email_recipients, sealer, clock }),
    events: createEventStore(dynamodb, tables.email_batches, clock),
    newsletters: createNewsletterStore(dynamodb, tables.newsletters),
    budgets: createPacingStore(dynamodb, tables.pipeline_state),
    queues: createNewsletterQueues(sqs, newsletter_queues),
    // The clock of the deployment starts a scheduled email within a minute; operators need no right to make schedules.
    schedules: { create: async () => {}, remove: async () => {} },
    clock,
    newId,
    limits: {
      ...DEFAULT_JOB_LIMITS,
      ...(uncertain_minutes !== undefined && { uncertain_ms: 60_000 * uncertain_minutes }),
    },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  };
}

export type EmailAccess = ReturnType<typeof emailAccess>;

/** @throws Problem for an unknown email */
export async function existingEmail(email_id: string, { emails }: Pick<EmailAccess, 'emails'>): Promise<Email> {
  const email = await emails.read(email_id);
  if (email !== undefined) return email;
  throw new Problem('not-found', `There is no email ${email_id}: npm run ops -- emails list --tenant ID shows them.`);
}

/** @throws Problem for an unknown email */
export async function readEmailView(email_id: string, access: EmailAccess): Promise<EmailView> {
  const email = await existingEmail(email_id, access);
  const [batches, events, registers] = await Promise.all([
    access.batches.list(email_id),
    access.events.list(email_id),
    access.budgets.read('email'),
  ]);
  const now = access.clock();
  const known = Object.keys(registers).length > 0;
  const allowed = known ? budgetStatus('email', registers, now).per_second : null;
  return emailView({ email, batches, events }, now, allowed ?? undefined);
}
