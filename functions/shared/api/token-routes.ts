import type * as v from 'valibot';
import {
  type AskedRights,
  MAX_TOKEN_CHARACTERS,
  scopesFor,
  signPageToken,
} from '../../../src/adapters/api-keys/page-token.ts';
import { TOKEN_ROUTES } from '../../../src/application/contract/api/notification-routes.ts';
import type { tokenSchema } from '../../../src/application/contract/api/tokens.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { invalid } from '../../../src/http/check.ts';
import { type ServedRoute, serve } from './api-function.ts';

export interface TokenRouteDeps {
  /** Signs the tokens. */
  readonly secret: () => Promise<string>;
  readonly clock: Clock;
}

export function tokenRoutes({ secret, clock }: TokenRouteDeps): ServedRoute[] {
  return serve(TOKEN_ROUTES, {
    async createToken({ caller, body }) {
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
  });
}

/** @throws Problem unless exactly one of the two is given, and what narrows it with `send` alone */
function rightsOf({ log_ids, send, ttl_seconds: _, ...only }: v.InferOutput<typeof tokenSchema>): AskedRights {
  const narrowed = Object.values(only).some((one) => one !== undefined);
  if (log_ids !== undefined && send === undefined && !narrowed) return { log_ids: [...new Set(log_ids)] };
  if (send === true && log_ids === undefined) return { send, ...only };
  throw invalid([{ path: '', rule: 'one_right', message: 'must have either log_ids, or send: true' }]);
}
