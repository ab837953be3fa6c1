import * as v from 'valibot';
import { AUDIT_PERIOD_MS, fitsAudit } from '../../core/operator/audit/audit.ts';
import { type AuditList, auditQuery } from '../contract/audit.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import type { ConsoleDeps } from '../deps.ts';
import { type RouteTable, route } from '../route.ts';

const place = v.strictObject({
  day: v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\d$/)),
  item: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
});

/** Who did what when. */
export function auditRoutes({ audit, clock }: ConsoleDeps): RouteTable {
  return {
    'GET /api/audit': route('GET /api/audit', auditQuery, async ({ input }): Promise<AuditList> => {
      const { limit } = input;
      const after = fromCursor(place, input.cursor);
      const to = input.to ?? clock().toISOString();
      const from = input.from ?? new Date(Date.parse(to) - AUDIT_PERIOD_MS).toISOString();
      const { records, next } = await audit.list({
        from,
        to,
        limit,
        ...(after && { after }),
        fits: (record) => fitsAudit(input, record),
      });
      return { entries: records, next_cursor: toCursor(next) };
    }),
  };
}
