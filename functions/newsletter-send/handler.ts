import { loadedOnUse } from '../../src/adapters/batching/gather.ts';
import { createChunkStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEventStore } from '../../src/adapters/dynamodb/newsletter/event-store.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { createWarmingStore } from '../../src/adapters/dynamodb/newsletter/warming-store.ts';
import { createMemberSealing, withRecentHashes } from '../../src/adapters/recipient/member-sealing.ts';
import { unsubscribeToken } from '../../src/adapters/signing/signed-tokens.ts';
import { sendMessage } from '../../src/adapters/sqs/newsletter-messages.ts';
import { continueResolve } from '../../src/core/newsletter/lifecycle/resolve.ts';
import { CHUNK_SIZE } from '../../src/core/newsletter/model/batch.ts';
import type { SendMessage } from '../../src/core/newsletter/model/email-message.ts';
import type { BulkProvider, Renderings } from '../../src/core/newsletter/model/provider.ts';
import { createLateExclusions } from '../../src/core/newsletter/sending/exclusion-checks.ts';
import { recordLate } from '../../src/core/newsletter/sending/note-answer.ts';
import { sendBatch } from '../../src/core/newsletter/sending/send-batch.ts';
import type { SendDeps } from '../../src/core/newsletter/sending/send-deps.ts';
import { createSendPacing } from '../../src/core/newsletter/sending/send-pacing.ts';
import { createWarming } from '../../src/core/newsletter/warming/domain-warming.ts';
import { bindNewsletter, createNewsletterDynamoDb, messageHandler } from '../shared/newsletter/bind-newsletter.ts';
import { newsletterSendEnv } from '../shared/runtime/newsletter-env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';
import { createPacer, readAccountLimits } from '../shared/runtime/pacer.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

/** Sends a batch of an email in its slot, or records the outcome of a call that storage did not take in time. */
export function createHandler(
  deps: Omit<SendDeps, 'remaining_ms'>,
  observability: Pick<Observability, 'logger' | 'metrics'>,
) {
  const { logger, metrics } = observability;
  const run = async (message: SendMessage, remaining_ms: () => number): Promise<void> => {
    const { email_id } = message;
    if (message.kind === 'resolve') {
      const { resolved = 0, waiting = 0, continued = false } = (await continueResolve(message, deps)) ?? {};
      logger.info('decision', { email_id, action: message.action, resolved, waiting, continued });
      return;
    }
    const { batch_id } = message;
    if (message.kind === 'record') {
      await recordLate(message, deps);
      logger.info('late outcome recorded', { email_id, batch_id, chunk: message.chunk });
      return;
    }
    const report = await sendBatch(message, { ...deps, remaining_ms });
    const { uncertain = 0 } = report.counts ?? {};
    if (uncertain > 0 && report.result === 'submitted') count(metrics, 'NewsletterUncertain', uncertain);
    logger.info('batch', { email_id, batch_id, ...report });
  };
  return messageHandler(sendMessage, run, observability);
}

export const handler = bindFunction(newsletterSendEnv, (env, observability) => {
  const client = createNewsletterDynamoDb();
  const shared = bindNewsletter(env, client, observability);
  const { sealer, hashKey, unsubscribeSecret } = createSecretsAndKeys(env, client);
  const { clock } = shared;
  const set = env.NEWSLETTER_CONFIGURATION_SET;
  // Two chunks are looked at together, in each of two batches at once.
  const sealing = withRecentHashes(createMemberSealing(sealer, hashKey), 4 * CHUNK_SIZE);
  const deps: Omit<SendDeps, 'remaining_ms'> = {
    ...shared,
    chunks: createChunkStore(client, { table: env.EMAIL_RECIPIENTS_TABLE, sealer, clock }),
    newsletters: createNewsletterStore(client, env.NEWSLETTERS_TABLE, env.OWN_SENDERS_ONLY),
    events: createEventStore(client, env.EMAIL_BATCHES_TABLE, clock),
    provider: loadedOnUse<BulkProvider>(
      async () => (await import('../shared/newsletter/ses-access.ts')).createSesAccess(set).provider,
      'send',
    ),
    // The budget of e-mail, which newsletters share with single mails.
    pacing: createSendPacing(createPacer('email', env, client, { ...observability, clock }, readAccountLimits), shared),
    warming: createWarming(createWarmingStore(client, env.PIPELINE_STATE_TABLE, clock), clock),
    exclusions: createLateExclusions(createMemberStore(client, env.MEMBERS_TABLE, clock), sealing),
    renderings: loadedOnUse<Renderings>(
      async () => (await import('../../src/adapters/post/post-renderer.ts')).createRenderings(),
      'of',
    ),
    async linkOf(place, { tenant_id, member_email }) {
      const email_hash = await sealing.emailHash(tenant_id, member_email);
      const token = unsubscribeToken(await unsubscribeSecret(), { ...place, email_hash });
      return { unsubscribe_url: `${env.API_URL}/u/${token}`, email_hash };
    },
  };
  return createHandler(deps, observability);
});
