import * as v from 'valibot';
import type { OperatorDeps } from '../deps.ts';
import { createOverview } from '../overview.ts';
import { type RouteTable, route } from '../route.ts';

export function overviewRoutes(deps: OperatorDeps): RouteTable {
  const overview = createOverview(deps);
  return { 'GET /api/overview': route('GET /api/overview', v.strictObject({}), () => overview()) };
}
