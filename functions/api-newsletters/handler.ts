import { randomUUID } from 'node:crypto';
import { createRequestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import { createApi } from '../shared/api/api-function.ts';
import { memberRoutes, newsletterRoutes } from '../shared/api/newsletter-routes.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/api-dynamodb.ts';
import { apiNewslettersEnv } from '../shared/runtime/newsletter-env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

export const handler = bindFunction(apiNewslettersEnv, (env, observability) => {
  const client = createApiDynamoDb();
  const clock = () => new Date();
  const { sealer, hashKey } = createSecretsAndKeys(env, client);
  const deps = {
    newsletters: createNewsletterStore(client, env.NEWSLETTERS_TABLE, env.OWN_SENDERS_ONLY),
    members: createMemberStore(client, env.MEMBERS_TABLE, clock),
    sealing: createMemberSealing(sealer, hashKey),
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
    clock,
    newId: randomUUID,
  };
  return createApi([...newsletterRoutes(deps), ...memberRoutes(deps, observability)], deps, observability);
});
