import type { APIGatewayRequestAuthorizerEventV2, APIGatewaySimpleAuthorizerWithContextResult } from 'aws-lambda';
import { DEFAULT_RATE_LIMIT, isValid, parseAuthorization } from '../../src/adapters/api-keys/api-key.ts';
import { type ApiKeyStore, createApiKeyStore } from '../../src/adapters/api-keys/api-key-store.ts';
import type { Clock } from '../../src/core/model/time.ts';
import { type CallerContext, toContext } from '../shared/api/caller.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { apiAuthorizerEnv, parseEnv } from '../shared/runtime/env.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';

export interface AuthorizerDeps {
  readonly keys: Pick<ApiKeyStore, 'get'>;
  readonly clock: Clock;
}

type Answer = APIGatewaySimpleAuthorizerWithContextResult<CallerContext | Record<string, never>>;
type Event = Pick<APIGatewayRequestAuthorizerEventV2, 'headers'>;

/**
 * Identifies the API key. An invalid key gets an empty context instead of a refusal: API Gateway would turn a refusal
 * into a 403 without a problem document. The function behind answers with the right 401 (docs/decisions/0052).
 */
export function createHandler({ keys, clock }: AuthorizerDeps, { logger }: Pick<Observability, 'logger'>) {
  return async (event: Event): Promise<Answer> => {
    const given = parseAuthorization(event.headers?.['authorization']);
    const key = given && (await keys.get(given.key_id));
    if (given === undefined || !isValid(key, given.secret, clock())) {
      logger.info('no valid key', { key_id: given?.key_id });
      return { isAuthorized: true, context: {} };
    }
    const { tenant_id, key_id, scopes, rate_limit = DEFAULT_RATE_LIMIT } = key;
    return { isAuthorized: true, context: toContext({ tenant_id, key_id, scopes, rate_limit }) };
  };
}

function bind() {
  const env = parseEnv(apiAuthorizerEnv, process.env);
  const observability = createObservability();
  const deps = { keys: createApiKeyStore(createApiDynamoDb(), env.API_KEYS_TABLE), clock: () => new Date() };
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
