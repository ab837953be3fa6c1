import { createRequestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { type ApiDeps, createApi } from '../shared/api/api-function.ts';
import { type TokenRouteDeps, tokenRoutes } from '../shared/api/token-routes.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { apiTokensEnv } from '../shared/runtime/env.ts';
import { parseEnv } from '../shared/runtime/env-values.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';
import { tokenSecret } from '../shared/runtime/token-secret.ts';

/** Signs short-lived tokens for web pages of producers. */
export function createHandler(deps: TokenRouteDeps & ApiDeps, observability: Observability) {
  return createApi(tokenRoutes(deps), deps, observability);
}

function bind() {
  const env = parseEnv(apiTokensEnv, process.env);
  const observability = createObservability();
  const deps: TokenRouteDeps & ApiDeps = {
    secret: tokenSecret(env),
    counts: createRequestCounts(createApiDynamoDb(), env.PIPELINE_STATE_TABLE),
    clock: () => new Date(),
  };
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
