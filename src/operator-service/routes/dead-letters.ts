import { deadLettersQuery } from '../contract/dead-letters.ts';
import { deadGroups } from '../dead-groups.ts';
import type { OperatorDeps } from '../deps.ts';
import { type RouteTable, route } from '../route.ts';

/** Dead notifications by cause. */
export function deadLetterRoutes(deps: OperatorDeps): RouteTable {
  return {
    'GET /api/dead-letters': route('GET /api/dead-letters', deadLettersQuery, ({ input }) => deadGroups(input, deps)),
  };
}
