import type { ApiKey } from '../../adapters/api-keys/api-key.ts';
import { newApiKey } from '../../adapters/api-keys/api-key.ts';
import { createApiKeyStore } from '../../adapters/api-keys/api-key-store.ts';
import { Problem } from '../../core/model/problem.ts';
import { decide } from '../audited.ts';
import { type CreatedKey, createKeyBody, type KeyView, keysQuery, revokeKeyBody } from '../contract/keys.ts';
import type { ConsoleDeps } from '../deps.ts';
import { type RouteTable, route } from '../route.ts';

const DAY_MS = 86_400_000;

/** The API keys of producers, as `ops keys` shows, makes and revokes them. */
export function keyRoutes(deps: ConsoleDeps): RouteTable {
  const { clock } = deps;
  const store = createApiKeyStore(deps.dynamodb, deps.deployment.tables.api_keys);
  return {
    'GET /api/keys': route('GET /api/keys', keysQuery, async ({ input }) => ({
      // Few: the table is read as a whole, as `ops keys list` reads it.
      keys: (await store.list(input.tenant)).reverse().map((key) => viewOf(key, clock())),
      next_cursor: null,
    })),
    'POST /api/keys': route('POST /api/keys', createKeyBody, async (request) => {
      const { tenant, scopes, expires_in_days, rate_limit, description } = request.input;
      const decision = { what: 'key.create', on: [tenant], details: { scopes } };
      const { answer } = await decide('POST /api/keys', request, decision, deps, async () => {
        const { key_id, key, secret_hash } = newApiKey();
        const now = clock();
        await store.create({
          key_id,
          secret_hash,
          tenant_id: tenant,
          scopes: [...new Set(scopes)],
          created_at: now.toISOString(),
          ...(expires_in_days !== undefined && {
            expires_at: new Date(now.getTime() + expires_in_days * DAY_MS).toISOString(),
          }),
          ...(rate_limit !== undefined && { rate_limit }),
          ...(description !== undefined && { description }),
        });
        const made: CreatedKey = { key_id, key };
        return { answer: made, stored: { key_id, key: null }, result: { created: 1 } };
      });
      return answer;
    }),
    'POST /api/keys/{key_id}/revoke': route('POST /api/keys/{key_id}/revoke', revokeKeyBody, async (request) => {
      const key_id = request.path['key_id'] ?? '';
      const decision = { what: 'key.revoke', on: [key_id] };
      const { answer } = await decide('POST /api/keys/{key_id}/revoke', request, decision, deps, async () => {
        const revoked_at = clock().toISOString();
        if (!(await store.end(key_id, { revoked_at }))) {
          throw new Problem('not-found', 'There is no key with this id that is not revoked.');
        }
        return { answer: { key_id, revoked_at }, result: { revoked: 1 } };
      });
      return answer;
    }),
  };
}

function viewOf({ secret_hash: _, rotated_at: __, lifetime_ms: ___, ...key }: ApiKey, now: Date): KeyView {
  const isExpired = key.expires_at !== undefined && Date.parse(key.expires_at) <= now.getTime();
  return { ...key, state: key.revoked_at !== undefined ? 'revoked' : isExpired ? 'expired' : 'valid' };
}
