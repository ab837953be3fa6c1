import { randomUUID } from 'node:crypto';
import { createRequestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import { type ApiDeps, createApi } from '../shared/api/api-function.ts';
import { type MemberRouteDeps, memberRoutes } from '../shared/api/member-routes.ts';
import { type NewsletterRouteDeps, newsletterRoutes } from '../shared/api/newsletter-routes.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { parseEnv } from '../shared/runtime/env-values.ts';
import { apiNewslettersEnv } from '../shared/runtime/newsletter-env.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

type Deps = NewsletterRouteDeps & MemberRouteDeps & ApiDeps;

/** Keeps newsletters and their members. */
export function createHandler(deps: Deps, observability: Observability) {
  return createApi([...newsletterRoutes(deps), ...memberRoutes(deps, observability)], deps, observability);
}

function bind() {
  const env = parseEnv(apiNewslettersEnv, process.env);
  const observability = createObservability();
  const client = createApiDynamoDb();
  const clock = () => new Date();
  const { sealer, hashKey } = createSecretsAndKeys(env, client);
  const deps: Deps = {
    newsletters: createNewsletterStore(client, env.NEWSLETTERS_TABLE),
    members: createMemberStore(client, env.MEMBERS_TABLE, clock),
    sealing: createMemberSealing(sealer, hashKey),
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
    clock,
    newId: randomUUID,
  };
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
