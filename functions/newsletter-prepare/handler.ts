import { loadedOnUse } from '../../src/adapters/batching/gather.ts';
import { createChunkStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createDryRunStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createWarmingStore } from '../../src/adapters/dynamodb/newsletter/warming-store.ts';
import { createCandidateReader } from '../../src/adapters/nql/candidate-reader.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import { prepareMessage } from '../../src/adapters/sqs/newsletter-messages.ts';
import { continueDryRun, type RequestDryRunDeps } from '../../src/core/newsletter/lifecycle/dry-run.ts';
import { countEmail, type StartDeps, startEmail } from '../../src/core/newsletter/lifecycle/start.ts';
import type { PrepareMessage } from '../../src/core/newsletter/model/email-message.ts';
import type { Renderings } from '../../src/core/newsletter/model/provider.ts';
import type { PartSegments } from '../../src/core/newsletter/preparation/ports.ts';
import { createWarming } from '../../src/core/newsletter/warming/domain-warming.ts';
import { bindNewsletter, createNewsletterDynamoDb, messageHandler } from '../shared/newsletter/bind-newsletter.ts';
import { newsletterPrepareEnv } from '../shared/runtime/newsletter-env.ts';
import { bindFunction, type Observability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

type PrepareFunctionDeps = Omit<StartDeps, 'remaining_ms'> & RequestDryRunDeps;

/** Counts the members of an email, starts its job (lock, preparation, first batches), or goes on with a dry run. */
export function createHandler(deps: PrepareFunctionDeps, observability: Pick<Observability, 'logger'>) {
  const { logger } = observability;
  const run = async ({ kind, email_id }: PrepareMessage, remaining_ms: () => number): Promise<void> => {
    if (kind === 'count') {
      const email_count = await countEmail(email_id, deps);
      logger.info('email counted', { email_id, email_count });
      return;
    }
    if (kind === 'dry-run') {
      const run = await continueDryRun(email_id, { ...deps, remaining_ms });
      logger.info('dry run', { email_id, members: run?.progress.members, done: run?.result !== undefined });
      return;
    }
    logger.info('email job', { email_id, ...(await startEmail(email_id, { ...deps, remaining_ms })) });
  };
  return messageHandler(prepareMessage, run, observability);
}

export const handler = bindFunction(newsletterPrepareEnv, (env, observability) => {
  const client = createNewsletterDynamoDb();
  const shared = bindNewsletter(env, client, observability);
  const { sealer, hashKey } = createSecretsAndKeys(env, client);
  const { clock } = shared;
  const postRenderer = () => import('../../src/adapters/post/post-renderer.ts');
  const deps: PrepareFunctionDeps = {
    ...shared,
    require_address: env.REQUIRE_ADDRESS,
    dry_runs: createDryRunStore(client, env.EMAILS_TABLE, clock),
    chunks: createChunkStore(client, {
      table: env.EMAIL_RECIPIENTS_TABLE,
      sealer,
      clock,
      recipient_days: env.RECIPIENT_DAYS,
    }),
    candidates: createCandidateReader(
      createMemberStore(client, env.MEMBERS_TABLE, clock),
      createMemberSealing(sealer, hashKey),
    ),
    // The HTML parser.
    parts: loadedOnUse<PartSegments>(async () => (await postRenderer()).createPartSegments(), 'of'),
    renderings: loadedOnUse<Renderings>(async () => (await postRenderer()).createRenderings(), 'of'),
    warming: createWarming(createWarmingStore(client, env.PIPELINE_STATE_TABLE, clock), clock),
  };
  return createHandler(deps, observability);
});
