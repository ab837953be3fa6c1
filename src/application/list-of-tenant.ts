import type * as v from 'valibot';
import { publicState } from '../core/intake/public-state.ts';
import { asNotification, type ForeignRow } from '../core/model/notification.ts';
import { DAY_MS, parseTime } from '../core/model/time.ts';
import { type Period, periodOf } from '../core/operator/search-filter.ts';
import { invalid } from '../http/check.ts';
import type { querySchema } from './contract/api/intake.ts';
import { type ListDeps, listCopies, listNotifications, type NotificationPage } from './list-notifications.ts';

export type TenantQuery = v.InferOutput<typeof querySchema>;

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
    const period = () => periodIn(query, now);
    return listNotifications({ ...page, source: 'created', period, most_days: MAX_DAYS }, deps);
  }
  const isDated = cursor === undefined && (from !== undefined || to !== undefined);
  const filter = { ...page.filter, ...(isDated && { created: periodIn(query, now) }) };
  return listCopies({ ...page, filter, tenant_id, notification_id }, deps);
}

function periodIn({ from, to }: Pick<TenantQuery, 'from' | 'to'>, now: Date): Period {
  const iso = (time: string | undefined) => (time === undefined ? undefined : parseTime(time)?.toISOString());
  const period = periodOf({ from: iso(from), to: iso(to) }, now, DEFAULT_DAYS * DAY_MS);
  const length = Date.parse(period.to) - Date.parse(period.from);
  if (length < 0) throw invalid([{ path: 'from', rule: 'before_to', message: 'must not be later than to' }]);
  if (length <= MAX_DAYS * DAY_MS) return period;
  throw invalid([{ path: 'from', rule: 'max_days', message: `must be at most ${MAX_DAYS} days before to` }]);
}
