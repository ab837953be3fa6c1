import * as v from 'valibot';
import type { OperatorDeps } from '../deps.ts';
import { type RouteTable, route } from '../route.ts';

/** Often enough that a person sees what an action does; a poll without news costs a 304. */
const POLL_MS = 3_000;

/** Who the caller is, and what the page works on. */
export function sessionRoutes({ stage, region, local }: OperatorDeps): RouteTable {
  return {
    'GET /api/session': route('GET /api/session', v.strictObject({}), async ({ caller }) => ({
      ...caller,
      stage,
      region,
      local,
      poll_ms: POLL_MS,
    })),
  };
}
