import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { type DynamoDBClient, GetItemCommand, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type * as v from 'valibot';
import { loadedOnUse } from '../../../src/adapters/batching/gather.ts';
import { createBatchStore } from '../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { parseMessage } from '../../../src/adapters/sqs/message-bodies.ts';
import type { NewsletterQueueUrls } from '../../../src/adapters/sqs/newsletter-queues.ts';
import { DEFAULT_JOB_LIMITS, withRetries } from '../../../src/core/newsletter/model/job-limits.ts';
import type { JobEvent, JobLog, NewsletterQueues } from '../../../src/core/newsletter/model/ports.ts';
import { BATCHES, createDynamoDb } from '../runtime/clients/dynamodb.ts';
import type { newsletterClockEnv } from '../runtime/newsletter-env.ts';
import { count, type Observability } from '../runtime/observability.ts';

type NewsletterEnv = v.InferOutput<typeof newsletterClockEnv>;

const METRIC_OF = {
  failed: 'NewslettersFailed',
  count_off: 'NewsletterCountsOff',
  stalled: 'NewslettersStalled',
} as const satisfies Readonly<Record<JobEvent, string>>;

/** Its counts are of the job, whichever function has come to them. */
export function jobLog({ logger }: Pick<Observability, 'logger'>): JobLog {
  const metrics = new Metrics({ serviceName: 'newsletter-job', singleMetric: true });
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

export type TimeLeft = Pick<Context, 'getRemainingTimeInMillis'>;

/**
 * The handler of a queue of newsletters. A message that fails comes back after its visibility time-out, and in the end
 * goes to the dead letters; the clock has the work done again meanwhile.
 */
export function messageHandler<Message>(
  schema: v.GenericSchema<unknown, Message>,
  run: (message: Message, remaining_ms: () => number) => Promise<void>,
  { logger }: Pick<Observability, 'logger'>,
) {
  const handle = async ({ messageId, body }: SQSRecord, context: TimeLeft): Promise<boolean> => {
    try {
      await run(parseMessage(schema, body), () => context.getRemainingTimeInMillis());
      return true;
    } catch (error) {
      logger.error('message failed; it comes back', { message_id: messageId, error: error as Error });
      return false;
    }
  };
  return async ({ Records }: SQSEvent, context: TimeLeft): Promise<SQSBatchResponse> => {
    const done = await Promise.all(Records.map((record) => handle(record, context)));
    const back = Records.filter((_, i) => !done[i]);
    return { batchItemFailures: back.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

/**
 * What the newsletter functions do for each page of members and each call of 50 recipients. An update whose condition
 * fails is made again by the SDK, which gives it its typed error. That is rare: one sender at a time has a batch.
 */
export const NEWSLETTER_CALLS = {
  ...BATCHES,
  GetItem: GetItemCommand,
  Query: QueryCommand,
  UpdateItem: UpdateItemCommand,
};

export const createNewsletterDynamoDb = (): DynamoDBClient => createDynamoDb(NEWSLETTER_CALLS);

/** The queues, whose client is loaded with the first message. */
function queuesOnFirstMessage(urls: NewsletterQueueUrls): NewsletterQueues {
  const load = async () => (await import('./queue-access.ts')).createQueueAccess(urls);
  return loadedOnUse<NewsletterQueues>(load, 'prepare', 'send');
}
