import { createBatchStore, createChunkStore } from '../../adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../adapters/dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../../adapters/dynamodb/newsletter/event-store.ts';
import { createNewsletterStore } from '../../adapters/dynamodb/newsletter/newsletter-store.ts';
import { createPacingStore } from '../../adapters/dynamodb/pacing/pacing-store.ts';
import { createNewsletterQueues } from '../../adapters/sqs/newsletter-queues.ts';
import { DEFAULT_JOB_LIMITS } from '../../core/newsletter/model/job-limits.ts';
import type { OperatorBinding } from '../deps.ts';

type EmailAccessDeps = Pick<OperatorBinding, 'deployment' | 'dynamodb' | 'sqs' | 'clock' | 'newId'> &
  Partial<Pick<OperatorBinding, 'local'>>;

/** What commands need that work on emails: the use cases of the API, on the deployment's tables and queues. */
export function emailAccess({ deployment, dynamodb, sqs, clock, newId, local = false }: EmailAccessDeps) {
  const { tables, newsletter_queues, uncertain_minutes, batch_concurrency } = deployment;
  const sealer = deployment.sealer(dynamodb);
  return {
    emails: createEmailStore(dynamodb, tables.emails, clock),
    batches: createBatchStore(dynamodb, tables.email_batches, clock),
    chunks: createChunkStore(dynamodb, { table: tables.email_recipients, sealer, clock }),
    events: createEventStore(dynamodb, tables.email_batches, clock),
    newsletters: createNewsletterStore(dynamodb, tables.newsletters, deployment.own_senders_only),
    require_address: deployment.require_address === true,
    budgets: createPacingStore(dynamodb, tables.pipeline_state),
    queues: createNewsletterQueues(sqs, newsletter_queues),
    // The clock of the deployment starts it to the second; operators need no right to make schedules.
    schedules: { create: async () => {}, remove: async () => {} },
    clock,
    newId,
    local,
    limits: {
      ...DEFAULT_JOB_LIMITS,
      ...(batch_concurrency !== undefined && { concurrency: batch_concurrency }),
      ...(uncertain_minutes !== undefined && { uncertain_ms: 60_000 * uncertain_minutes }),
    },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  };
}
