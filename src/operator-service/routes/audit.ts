import * as v from 'valibot';
import { listAudit } from '../audit.ts';
import { auditQuery } from '../contract/audit.ts';
import { fromCursor, placeOf, toCursor } from '../cursor.ts';
import type { OperatorDeps } from '../deps.ts';
import { type RouteTable, route } from '../route.ts';

const place = placeOf(
  v.strictObject({
    day: v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\d$/)),
    item: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  }),
);

/** Who did what when. */
export function auditRoutes(deps: OperatorDeps): RouteTable {
  return {
    'GET /api/audit': route('GET /api/audit', auditQuery, async ({ input }) => {
      const { records, next } = await listAudit({ ...input, after: fromCursor(place, input.cursor) }, deps);
      return { entries: records, next_cursor: toCursor(next) };
    }),
  };
}
