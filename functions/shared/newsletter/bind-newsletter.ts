import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createBatchStore } from '../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { DEFAULT_JOB_LIMITS } from '../../../src/core/newsletter/model/job-limits.ts';
import { type JobRetries, withRetries } from '../../../src/core/newsletter/model/job-retries.ts';
import type { JobEvent, JobLog } from '../../../src/core/newsletter/model/ports.ts';
import type { Observability } from '../runtime/observability.ts';
import { count } from '../runtime/observability.ts';
import { queuesOnFirstMessage } from './on-first-email.ts';

interface NewsletterEnv {
  readonly EMAILS_TABLE: string;
  readonly EMAIL_BATCHES_TABLE: string;
  readonly NEWSLETTER_PREPARE_QUEUE: string;
  readonly NEWSLETTER_SEND_QUEUE: string;
  readonly BATCH_CONCURRENCY: number;
  readonly NEWSLETTER_RETRIES: JobRetries;
  readonly UNCERTAIN_MINUTES: number;
}

const METRIC_OF = {
  failed: 'NewslettersFailed',
  count_off: 'NewsletterCountsOff',
  stalled: 'NewslettersStalled',
} as const satisfies Readonly<Record<JobEvent, string>>;

export function jobLog({ logger, metrics }: Observability): JobLog {
  return {
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
    count: (what) => count(metrics, METRIC_OF[what]),
  };
}

/** What all functions of the job share, on the deployed tables and queues. */
export function bindNewsletter(env: NewsletterEnv, client: DynamoDBClient, observability: Observability) {
  const clock = () => new Date();
  return {
    emails: createEmailStore(client, env.EMAILS_TABLE, clock),
    batches: createBatchStore(client, env.EMAIL_BATCHES_TABLE, clock),
    queues: queuesOnFirstMessage({ prepare: env.NEWSLETTER_PREPARE_QUEUE, send: env.NEWSLETTER_SEND_QUEUE }),
    limits: {
      ...withRetries(DEFAULT_JOB_LIMITS, env.NEWSLETTER_RETRIES),
      concurrency: env.BATCH_CONCURRENCY,
      uncertain_ms: 60_000 * env.UNCERTAIN_MINUTES,
    },
    clock,
    pause: (ms: number) => setTimeout(ms),
    repeat: (ms: number, run: () => Promise<unknown>) => {
      const timer = setInterval(() => void run().catch(() => undefined), ms);
      return () => clearInterval(timer);
    },
    newId: () => randomUUID(),
    log: jobLog(observability),
  };
}
