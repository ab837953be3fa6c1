import { decideOnce } from '../audit.ts';
import { createKeyBody, keysQuery, revokeKeyBody } from '../contract/keys.ts';
import type { OperatorDeps } from '../deps.ts';
import { createKey, listKeys, revokeKey } from '../keys.ts';
import { type RouteTable, route } from '../route.ts';

const DAY_MS = 86_400_000;

/** The API keys of producers. */
export function keyRoutes(deps: OperatorDeps): RouteTable {
  return {
    'GET /api/keys': route('GET /api/keys', keysQuery, async ({ input }) => ({
      keys: (await listKeys(input.tenant, deps)).reverse().map(({ rotated_at: _, lifetime_ms: __, ...key }) => key),
      next_cursor: null,
    })),
    'POST /api/keys': route('POST /api/keys', createKeyBody, (request) => {
      const { expires_in_days, ...asked } = request.input;
      const lifetime_ms = expires_in_days === undefined ? undefined : expires_in_days * DAY_MS;
      return createKey({ ...asked, lifetime_ms }, deps, decideOnce('POST /api/keys', request, deps));
    }),
    'POST /api/keys/{key_id}/revoke': route('POST /api/keys/{key_id}/revoke', revokeKeyBody, (request) =>
      revokeKey(request.path['key_id'] ?? '', deps, decideOnce('POST /api/keys/{key_id}/revoke', request, deps)),
    ),
  };
}
