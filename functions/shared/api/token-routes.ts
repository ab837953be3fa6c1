import { check, invalid, readOptionalIdempotencyKey } from '../../../src/adapters/api/read-request.ts';
import { tokenSchema } from '../../../src/adapters/api/token-schemas.ts';
import {
  MAX_TOKEN_CHARACTERS,
  type PageRights,
  scopesFor,
  signPageToken,
} from '../../../src/adapters/api-keys/page-token.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { ApiAnswer, ApiRequest, Routes } from './api-function.ts';

export interface TokenRouteDeps {
  /** Signs the tokens. */
  readonly secret: () => Promise<string>;
  readonly clock: Clock;
}

const MAX_BYTES = 16 * 1024;

/**
 * The route by which a producer's server gets tokens for its web pages
 * (docs/decisions/intake/keys-rights-and-limits.md#0149).
 */
export function tokenRoutes({ secret, clock }: TokenRouteDeps): Routes {
  async function create({ caller, headers, json }: ApiRequest): Promise<ApiAnswer> {
    readOptionalIdempotencyKey(headers['idempotency-key']);
    const { log_ids, send, ttl_seconds } = check(tokenSchema, json());
    const rights = rightsOf(log_ids, send);
    const missing = scopesFor(rights).filter((scope) => !caller.scopes.includes(scope));
    if (missing.length > 0) {
      throw new Problem(
        'forbidden',
        `A token may do no more than its key: this API key lacks the scope ${missing.join(' and ')}.`,
      );
    }
    const expires_at = new Date(clock().getTime() + ttl_seconds * 1000).toISOString();
    const token = signPageToken(await secret(), { key_id: caller.key_id, expires_at, rights });
    if (token.length > MAX_TOKEN_CHARACTERS) {
      const message = 'are too long together for one token: ask for several tokens';
      throw invalid([{ path: 'log_ids', rule: 'token_length', message }]);
    }
    return { status: 201, body: { token, expires_at }, log: { log_ids: log_ids?.length ?? 0, ttl_seconds } };
  }

  return { 'POST /v1/tokens': { scope: 'any', max_bytes: MAX_BYTES, handle: create } };
}

/** @throws Problem unless exactly one of the two is given */
function rightsOf(log_ids: readonly string[] | undefined, send: boolean | undefined): PageRights {
  if (log_ids !== undefined && send === undefined) return { log_ids: [...new Set(log_ids)] };
  if (send === true && log_ids === undefined) return { send };
  throw invalid([{ path: '', rule: 'one_right', message: 'must have either log_ids, or send: true' }]);
}
