import type { Channel } from '../../model/channels.ts';
import { type ErrorType, remedyOf } from '../../model/error-types.ts';
import type { NotificationRow } from '../../model/notification.ts';
import { failedAt } from '../../model/row-state.ts';
import { withoutAddresses } from '../../model/text.ts';
import { workFaults } from '../../model/work-rules.ts';
import { integrationOf, lastErrorOf } from '../search-filter.ts';

/** Dead notifications that one repair brings back: same channel, integration, reason and last error. */
export interface DeadGroup {
  readonly channel: Channel;
  readonly failure_reason: ErrorType;
  readonly error_type: ErrorType | null;
  /** integration_config_id; null: none. */
  readonly integration: string | null;
  readonly count: number;
  readonly tenants: number;
  readonly oldest_at: string;
  readonly newest_at: string;
  /** Of the newest one, without addresses. */
  readonly error_message: string | null;
  readonly response_code: string | null;
  /** The newest few log_ids. */
  readonly sample: readonly string[];
  readonly remedy: string;
}

const SAMPLE = 5;

interface Member {
  readonly row: NotificationRow;
  readonly at: string;
}

/**
 * The largest group first. A malformed row belongs to no group: no repair brings it back, and it must not keep the others
 * from being shown. Lists show it as set aside.
 */
export function groupDead(rows: readonly NotificationRow[]): DeadGroup[] {
  const members = rows.flatMap((row): Member[] => {
    if (row.failure_reason === undefined || workFaults({ ...row }).length > 0) return [];
    return [{ row, at: failedAt(row) ?? row.work_at ?? '' }];
  });
  return [...Map.groupBy(members, ({ row }) => groupKey(row)).values()]
    .flatMap((group) => groupOf(group) ?? [])
    .sort((a, b) => b.count - a.count || (a.newest_at < b.newest_at ? 1 : -1));
}

/** The same for every member of a group, and for no other notification: what the group's filter asks for. */
function groupKey(row: NotificationRow): string {
  const { channel, failure_reason } = row;
  const foreign = { ...row };
  return JSON.stringify([channel, integrationOf(foreign) ?? null, failure_reason, lastErrorOf(foreign) ?? null]);
}

function groupOf(members: readonly Member[]): DeadGroup | undefined {
  const newestFirst = [...members].sort((a, b) => (a.at < b.at ? 1 : -1));
  const [newest] = newestFirst;
  const failure_reason = newest?.row.failure_reason;
  if (newest === undefined || failure_reason === undefined) return undefined;
  const { channel, error_message, response_code } = newest.row;
  const error_type = lastErrorOf({ ...newest.row });
  return {
    channel,
    failure_reason,
    error_type: error_type ?? null,
    integration: integrationOf({ ...newest.row }) ?? null,
    count: members.length,
    tenants: new Set(members.map(({ row }) => row.tenant_id)).size,
    oldest_at: newestFirst.at(-1)?.at ?? newest.at,
    newest_at: newest.at,
    error_message: error_message ? withoutAddresses(error_message) : null,
    response_code: response_code ?? null,
    sample: newestFirst.slice(0, SAMPLE).map(({ row }) => row.log_id),
    remedy: remedyOf(failure_reason, error_type, channel),
  };
}
