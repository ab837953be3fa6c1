import type * as v from 'valibot';
import type { querySchema } from '../../../src/application/contract/api/intake.ts';
import {
  type ListDeps,
  listCopies,
  listNotifications,
  type NotificationPage,
} from '../../../src/application/list-notifications.ts';
import { publicState } from '../../../src/core/intake/public-state.ts';
import { asNotification, type ForeignRow } from '../../../src/core/model/notification.ts';
import { isoBefore, parseTime } from '../../../src/core/model/time.ts';
import type { Period } from '../../../src/core/operator/search-filter.ts';
import { invalid } from '../../../src/http/check.ts';

export type TenantQuery = v.InferOutput<typeof querySchema>;

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
/** Each day of a period costs a few reads, even if nothing happened on it. */
const MAX_DAYS = 31;

/** A page of a tenant's notifications, newest first; or of the copies of one of them. @throws Problem */
export async function listOfTenant(query: TenantQuery, tenant_id: string, deps: ListDeps): Promise<NotificationPage> {
  const { from, to, limit, cursor, status, channel, priority, notification_id } = query;
  const now = deps.clock();
  const page = {
    filter: { tenant_id, ...(channel && { channel }), ...(priority && { priority }) },
    fits: (row: ForeignRow) => status === undefined || publicState(asNotification(row), now) === status,
    limit: Number(limit),
    cursor,
  };
  if (notification_id === undefined) {
    const period = () => periodOf(from, to, now);
    return listNotifications({ ...page, source: 'created', period, most_days: MAX_DAYS }, deps);
  }
  const isDated = cursor === undefined && (from !== undefined || to !== undefined);
  const filter = { ...page.filter, ...(isDated && { created: periodOf(from, to, now) }) };
  return listCopies({ ...page, filter, tenant_id, notification_id }, deps);
}

function periodOf(from: string | undefined, to: string | undefined, now: Date): Period {
  const end = (to === undefined ? undefined : parseTime(to)) ?? now;
  const start = (from === undefined ? undefined : parseTime(from)) ?? new Date(isoBefore(end, DEFAULT_DAYS * DAY_MS));
  if (start > end) throw invalid([{ path: 'from', rule: 'before_to', message: 'must not be later than to' }]);
  if (end.getTime() - start.getTime() > MAX_DAYS * DAY_MS) {
    throw invalid([{ path: 'from', rule: 'max_days', message: `must be at most ${MAX_DAYS} days before to` }]);
  }
  return { from: start.toISOString(), to: end.toISOString() };
}
