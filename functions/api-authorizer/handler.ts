import type { APIGatewayRequestAuthorizerEventV2, APIGatewaySimpleAuthorizerWithContextResult } from 'aws-lambda';
import {
  type ApiKeyStore,
  createApiKeyStore,
  DEFAULT_RATE_LIMIT,
  isLive,
  isValid,
  parseAuthorization,
} from '../../src/adapters/api-keys/api-key.ts';
import { parseTokenHeader, readPageToken, scopesFor } from '../../src/adapters/api-keys/page-token.ts';
import type { Clock } from '../../src/core/model/time.ts';
import { type Caller, type CallerContext, toContext } from '../shared/api/caller.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/api-dynamodb.ts';
import { apiAuthorizerEnv } from '../shared/runtime/env.ts';
import { bindFunction, type Observability } from '../shared/runtime/observability.ts';
import { tokenSecret } from '../shared/runtime/token-secret.ts';

export interface AuthorizerDeps {
  readonly keys: Pick<ApiKeyStore, 'get'>;
  readonly tokenSecret: () => Promise<string>;
  readonly clock: Clock;
}

type Answer = APIGatewaySimpleAuthorizerWithContextResult<CallerContext | Record<string, never>>;
type Event = Pick<APIGatewayRequestAuthorizerEventV2, 'headers'>;

/**
 * Identifies the API key, or the token of a web page. An invalid one gets an empty context instead of a refusal: API
 * Gateway would turn a refusal into a 403 without a problem document. The function behind answers with the right 401
 * (docs/decisions/intake/keys-rights-and-limits.md#0052).
 */
export function createHandler(deps: AuthorizerDeps, { logger }: Pick<Observability, 'logger'>) {
  return async (event: Event): Promise<Answer> => {
    const header = event.headers?.['authorization'];
    const token = parseTokenHeader(header);
    const caller = token === undefined ? await byKey(header, deps) : await byToken(token, deps);
    if (!('tenant_id' in caller)) {
      logger.info('no valid key', { ...caller });
      return { isAuthorized: true, context: {} };
    }
    return { isAuthorized: true, context: toContext(caller) };
  };
}

/** What a request claims to be, for the log. */
interface Stranger {
  readonly key_id?: string | undefined;
  readonly token_id?: string;
}

async function byKey(header: string | undefined, { keys, clock }: AuthorizerDeps): Promise<Caller | Stranger> {
  const given = parseAuthorization(header);
  const key = given && (await keys.get(given.key_id));
  if (given === undefined || !isValid(key, given.secret, clock())) return { key_id: given?.key_id };
  const { tenant_id, key_id, scopes, rate_limit = DEFAULT_RATE_LIMIT } = key;
  return { tenant_id, key_id, scopes, rate_limit };
}

/** A token is worth what its key is worth now: nothing without it, and no more than the key's own scopes. */
async function byToken(text: string, { keys, tokenSecret, clock }: AuthorizerDeps): Promise<Caller | Stranger> {
  const read = readPageToken(await tokenSecret(), text);
  if (read === undefined) return {};
  const { key_id, ...token } = read;
  const stranger: Stranger = { key_id, token_id: token.token_id };
  if (Date.parse(token.expires_at) <= clock().getTime()) return stranger;
  const key = await keys.get(key_id);
  const scopes = scopesFor(token.rights);
  if (!isLive(key, clock()) || !scopes.every((scope) => key.scopes.includes(scope))) return stranger;
  const { tenant_id, rate_limit = DEFAULT_RATE_LIMIT } = key;
  return { tenant_id, key_id, scopes, rate_limit, token };
}

export const handler = bindFunction(apiAuthorizerEnv, (env, observability) => {
  const keys = createApiKeyStore(createApiDynamoDb(), env.API_KEYS_TABLE);
  const deps = { keys, tokenSecret: tokenSecret(env), clock: () => new Date() };
  return createHandler(deps, observability);
});
