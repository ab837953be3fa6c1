import { setTimeout } from 'node:timers/promises';
import { createRequestCounts, createTestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { createEventStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createChunkStore } from '../../src/adapters/dynamodb/newsletter/chunk-store.ts';
import { createDryRunStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { createPacingStore } from '../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { createCandidateReader } from '../../src/adapters/nql/candidate-reader.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import { createLateExclusions } from '../../src/core/newsletter/sending/exclusion-checks.ts';
import { createSendPacing } from '../../src/core/newsletter/sending/send-pacing.ts';
import { budgetStatus } from '../../src/core/pacing/budget-status.ts';
import { createApi } from '../shared/api/api-function.ts';
import { emailRoutes } from '../shared/api/email-routes.ts';
import {
  bindNewsletter,
  partsOnFirstEmail,
  renderingsOnFirstEmail,
  schedulesOnFirstEmail,
  sesOnFirstEmail,
} from '../shared/newsletter/bind-newsletter.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
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
  const deps = {
    ...shared,
    candidates: createCandidateReader(members, sealing),
    exclusions: createLateExclusions(members, sealing),
    pacing: createSendPacing(createPacer('email', env, client, observability), { clock, pause }),
    pause,
    countTests: createTestCounts(client, env.PIPELINE_STATE_TABLE),
    parts: partsOnFirstEmail(),
    dry_runs: createDryRunStore(client, env.EMAILS_TABLE, clock),
    chunks: createChunkStore(client, { table: env.EMAIL_RECIPIENTS_TABLE, sealer, clock }),
    events: createEventStore(client, env.EMAIL_BATCHES_TABLE, clock),
    newsletters: createNewsletterStore(client, env.NEWSLETTERS_TABLE),
    schedules: schedulesOnFirstEmail({
      group: env.SCHEDULE_GROUP,
      queue_arn: env.SCHEDULE_TARGET_ARN,
      role_arn: env.SCHEDULE_ROLE_ARN,
    }),
    ...sesOnFirstEmail(env.NEWSLETTER_CONFIGURATION_SET),
    renderings: renderingsOnFirstEmail(),
    async allowedRate() {
      const registers = await budgets.read('email');
      return Object.keys(registers).length === 0
        ? undefined
        : (budgetStatus('email', registers, clock()).per_second ?? undefined);
    },
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
  };
  return createApi(emailRoutes(deps), deps, observability);
});
