import type * as v from 'valibot';
import { tokenAnswer, tokenSchema } from '../../../src/adapters/api/token-schemas.ts';
import {
  type AskedRights,
  MAX_TOKEN_CHARACTERS,
  scopesFor,
  signPageToken,
} from '../../../src/adapters/api-keys/page-token.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { invalid } from '../../../src/http/check.ts';
import { type ApiRoute, route } from './api-function.ts';

export interface TokenRouteDeps {
  /** Signs the tokens. */
  readonly secret: () => Promise<string>;
  readonly clock: Clock;
}

/** A producer's server gets tokens for its pages (docs/decisions/intake/keys-rights-and-limits.md#0149). */
export function tokenRoutes({ secret, clock }: TokenRouteDeps): ApiRoute[] {
  return [
    route({
      key: 'POST /v1/tokens',
      operation_id: 'createToken',
      summary: 'Get a short-lived token for a web page. It may do less than its key',
      scope: 'any',
      idempotency: { needed: false },
      body: tokenSchema,
      answer: {
        status: 201,
        description: 'The token. It is sent like a key: Authorization: Bearer <token>',
        schema: tokenAnswer,
      },
      async handle({ caller, body }) {
        const asked = body();
        const { log_ids, ttl_seconds } = asked;
        const rights = rightsOf(asked);
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
        return { body: { token, expires_at }, log: { log_ids: log_ids?.length ?? 0, ttl_seconds } };
      },
    }),
  ];
}

/** @throws Problem unless exactly one of the two is given, and what narrows it with `send` alone */
function rightsOf({ log_ids, send, ttl_seconds: _, ...only }: v.InferOutput<typeof tokenSchema>): AskedRights {
  const narrowed = Object.values(only).some((one) => one !== undefined);
  if (log_ids !== undefined && send === undefined && !narrowed) return { log_ids: [...new Set(log_ids)] };
  if (send === true && log_ids === undefined) return { send, ...only };
  throw invalid([{ path: '', rule: 'one_right', message: 'must have either log_ids, or send: true' }]);
}
