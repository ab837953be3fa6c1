import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { createBatchStore, createChunkStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../../src/adapters/dynamodb/newsletter/event-store.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createWarmingStore } from '../../src/adapters/dynamodb/newsletter/warming-store.ts';
import { parseNewsletterEvent } from '../../src/adapters/email/newsletter-event-message.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import { groupsOf } from '../../src/core/model/collections.ts';
import { type ApplyDeps, applyEvents } from '../../src/core/newsletter/events/apply-events.ts';
import type { NewsletterEvent } from '../../src/core/newsletter/model/batch-events.ts';
import { DEFAULT_JOB_LIMITS, withRetries } from '../../src/core/newsletter/model/job-limits.ts';
import { createWarming } from '../../src/core/newsletter/warming/domain-warming.ts';
import { createNewsletterDynamoDb, jobLog } from '../shared/newsletter/bind-newsletter.ts';
import { newsletterEventsEnv } from '../shared/runtime/newsletter-env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

/** Batches of emails that are applied at once. */
const WRITE_CONCURRENCY = 20;

interface Received {
  readonly messageId: string;
  readonly event: NewsletterEvent;
}

/**
 * Applies the events of newsletters, those of one batch of recipients together. An unreadable event goes to the
 * dead-letter queue; what storage refuses comes back. Neither holds up its neighbours.
 */
export function createHandler(deps: ApplyDeps, { logger, metrics }: Observability) {
  return async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
    const back: string[] = [];
    const read = Records.flatMap((record) => readRecord(record, back) ?? []);
    const groups = [...Map.groupBy(read, ({ event }) => `${event.email_id}#${event.batch_id}`).values()];
    for (const some of groupsOf(groups, WRITE_CONCURRENCY)) {
      await Promise.all(some.map((group) => applyGroup(group, back)));
    }
    return { batchItemFailures: back.map((itemIdentifier) => ({ itemIdentifier })) };
  };

  function readRecord({ messageId, body }: SQSRecord, back: string[]): Received | undefined {
    try {
      const event = parseNewsletterEvent(body);
      if (event === undefined) count(metrics, 'IgnoredNewsletterEvents');
      return event && { messageId, event };
    } catch (error) {
      back.push(messageId);
      logger.error('unreadable event: it goes to the DLQ', { message_id: messageId, error: error as Error });
      return undefined;
    }
  }

  async function applyGroup(group: readonly Received[], back: string[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    const { email_id, batch_id } = first.event;
    try {
      const events = group.map(({ event }) => event);
      const { news, ...report } = await applyEvents(email_id, batch_id, events, deps);
      const { delivered = 0, bounced = 0, complained = 0 } = news;
      const counted = [
        ['NewsletterEvents', group.length - report.ignored],
        ['IgnoredNewsletterEvents', report.ignored],
        ['NewsletterDelivered', delivered],
        ['NewsletterBounced', bounced],
        ['NewsletterComplained', complained],
        ['NewsletterReconciled', report.reconciled],
      ] as const;
      for (const [name, value] of counted) if (value > 0) count(metrics, name, value);
      logger.info('newsletter events', { email_id, batch_id, events: group.length, ...news, ...report });
    } catch (error) {
      back.push(...group.map(({ messageId }) => messageId));
      logger.error('events could not be applied; they come back', {
        email_id,
        batch_id,
        events: group.length,
        error: error as Error,
      });
    }
  }
}

export const handler = bindFunction(newsletterEventsEnv, (env, observability) => {
  const client = createNewsletterDynamoDb();
  const clock = () => new Date();
  const { sealer, hashKey } = createSecretsAndKeys(env, client);
  const deps: ApplyDeps = {
    emails: createEmailStore(client, env.EMAILS_TABLE, clock),
    log: jobLog(observability),
    batches: createBatchStore(client, env.EMAIL_BATCHES_TABLE, clock),
    chunks: createChunkStore(client, { table: env.EMAIL_RECIPIENTS_TABLE, sealer, clock }),
    events: createEventStore(client, env.EMAIL_BATCHES_TABLE, clock),
    members: createMemberStore(client, env.MEMBERS_TABLE, clock),
    sealing: createMemberSealing(sealer, hashKey),
    warming: createWarming(createWarmingStore(client, env.PIPELINE_STATE_TABLE, clock), clock),
    clock,
    limits: withRetries(DEFAULT_JOB_LIMITS, env.NEWSLETTER_RETRIES),
  };
  return createHandler(deps, observability);
});
