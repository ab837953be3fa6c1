import { createRequestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { createApi } from '../shared/api/api-function.ts';
import { tokenRoutes } from '../shared/api/token-routes.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/api-dynamodb.ts';
import { apiTokensEnv } from '../shared/runtime/env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';
import { tokenSecret } from '../shared/runtime/token-secret.ts';

export const handler = bindFunction(apiTokensEnv, (env, observability) => {
  const deps = {
    secret: tokenSecret(env),
    counts: createRequestCounts(createApiDynamoDb(), env.PIPELINE_STATE_TABLE),
    clock: () => new Date(),
  };
  return createApi(tokenRoutes(deps), deps, observability);
});
