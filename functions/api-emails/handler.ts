import { setTimeout } from 'node:timers/promises';
import { loadedOnUse, onFirstUse } from '../../src/adapters/batching/gather.ts';
import { createRequestCounts, createTestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { createChunkStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createDryRunStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../../src/adapters/dynamodb/newsletter/event-store.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { createPacingStore } from '../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { createCandidateReader } from '../../src/adapters/nql/candidate-reader.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import type { PreviewDeps } from '../../src/application/emails/preview.ts';
import type { Schedules } from '../../src/core/newsletter/model/ports.ts';
import type { BulkProvider, Renderings } from '../../src/core/newsletter/model/provider.ts';
import type { PartSegments } from '../../src/core/newsletter/preparation/ports.ts';
import { createLateExclusions } from '../../src/core/newsletter/sending/exclusion-checks.ts';
import { createSendPacing } from '../../src/core/newsletter/sending/send-pacing.ts';
import { type ApiDeps, createApi } from '../shared/api/api-function.ts';
import { emailRoutes } from '../shared/api/email-routes.ts';
import { bindNewsletter } from '../shared/newsletter/bind-newsletter.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/api-dynamodb.ts';
import { apiEmailsEnv } from '../shared/runtime/newsletter-env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';
import { createPacer } from '../shared/runtime/pacer.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

/** Publishes emails, tells how far they are, and takes operators' decisions. */
export const handler = bindFunction(apiEmailsEnv, (env, observability) => {
  const client = createApiDynamoDb();
  const shared = bindNewsletter(env, client, observability);
  const { clock } = shared;
  const { sealer, hashKey } = createSecretsAndKeys(env, client);
  const members = createMemberStore(client, env.MEMBERS_TABLE, clock);
  const sealing = createMemberSealing(sealer, hashKey);
  const budgets = createPacingStore(client, env.PIPELINE_STATE_TABLE);
  const pause = (ms: number) => setTimeout<void>(ms);
  // SES's client, and the HTML parser.
  const ses = onFirstUse(async () =>
    (await import('../shared/newsletter/ses-access.ts')).createSesAccess(env.NEWSLETTER_CONFIGURATION_SET),
  );
  const postRenderer = () => import('../../src/adapters/post/post-renderer.ts');
  const deps: PreviewDeps & ApiDeps = {
    ...shared,
    hashKey,
    members,
    sealing,
    candidates: createCandidateReader(members, sealing),
    exclusions: createLateExclusions(members, sealing),
    pacing: createSendPacing(createPacer('email', env, client, { ...observability, clock }), { clock, pause }),
    pause,
    countTests: createTestCounts(client, env.PIPELINE_STATE_TABLE),
    parts: loadedOnUse<PartSegments>(async () => (await postRenderer()).createPartSegments(), 'of'),
    dry_runs: createDryRunStore(client, env.EMAILS_TABLE, clock),
    chunks: createChunkStore(client, { table: env.EMAIL_RECIPIENTS_TABLE, sealer, clock }),
    events: createEventStore(client, env.EMAIL_BATCHES_TABLE, clock),
    newsletters: createNewsletterStore(client, env.NEWSLETTERS_TABLE, env.OWN_SENDERS_ONLY),
    schedules: loadedOnUse<Schedules>(
      async () => {
        const { createEmailSchedules, createScheduler } = await import(
          '../../src/adapters/scheduler/email-schedules.ts'
        );
        return createEmailSchedules(createScheduler(), {
          group: env.SCHEDULE_GROUP,
          queue_arn: env.SCHEDULE_TARGET_ARN,
          role_arn: env.SCHEDULE_ROLE_ARN,
        });
      },
      'create',
      'remove',
    ),
    provider: loadedOnUse<BulkProvider>(async () => (await ses()).provider, 'send'),
    require_address: env.REQUIRE_ADDRESS,
    senderFault: async (from) => (await ses()).senderFault(from),
    renderings: loadedOnUse<Renderings>(async () => (await postRenderer()).createRenderings(), 'of'),
    budgets,
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
  };
  return createApi(emailRoutes(deps), deps, observability);
});
