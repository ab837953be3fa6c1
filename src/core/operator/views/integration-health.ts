import { createdAt } from '../../model/history-index.ts';
import { asNotification, type ForeignRow } from '../../model/notification.ts';
import { stateOf } from '../../model/row-state.ts';
import { withoutAddresses } from '../../model/text.ts';
import { epochMs, HOUR_MS } from '../../model/time.ts';
import { integrationOf } from '../search-filter.ts';

const HEALTH_HOURS = 24;

/** The beginning of the hours that the day of a reading has. */
export function healthSince(now: Date): Date {
  return new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS - (HEALTH_HOURS - 1) * HOUR_MS);
}

/**
 * How the notifications of each channel's integrations fared that were created in a day, the worst first
 * (src/application/contract/overview.ts). What was not tried yet says nothing of either.
 */
export function integrationHealth(rows: readonly ForeignRow[], now: Date) {
  const since = healthSince(now).getTime();
  const judged = rows.map((row) => {
    const channel = String(row['channel'] ?? row['notification_type'] ?? '').toLowerCase();
    return { row, channel, ...judge(row, now) };
  });
  const groups = Map.groupBy(judged, ({ row, channel }) => JSON.stringify([channel, integrationOf(row) ?? null]));
  return [...groups.values()]
    .map((group) => {
      const [first] = group;
      const failing = group.filter((one) => one.outcome === 'failing');
      const last = failing.reduce<(typeof failing)[number] | undefined>(
        (newest, one) => (newest === undefined || one.at > newest.at ? one : newest),
        undefined,
      );
      const error = last?.row['error_message'] ?? last?.row['error_type'] ?? last?.row['failure_reason'];
      const hours = Array.from({ length: HEALTH_HOURS }, () => ({ delivered: 0, failing: 0 }));
      for (const { row, outcome } of group) {
        const hour = hours[Math.floor((epochMs(createdAt(row)) - since) / HOUR_MS)];
        if (hour !== undefined && outcome !== undefined) hour[outcome] += 1;
      }
      return {
        channel: first?.channel ?? '',
        integration: (first && integrationOf(first.row)) ?? null,
        notifications: group.length,
        delivered: group.filter((one) => one.outcome === 'delivered').length,
        failing: failing.length,
        dead: failing.filter(({ dead }) => dead).length,
        last_error: error === undefined ? null : withoutAddresses(String(error)),
        last_failed_at: last?.at ?? null,
        hours,
      };
    })
    .sort((a, b) => weight(b) - weight(a) || b.notifications - a.notifications);
}

/** Three of three that fail are worse than nine of sixty, and a hundred of a thousand are worse than both. */
function weight({ delivered, failing }: { readonly delivered: number; readonly failing: number }): number {
  return failing === 0 ? 0 : failing ** 2 / (delivered + failing);
}

function judge(row: ForeignRow, now: Date) {
  const state = stateOf(asNotification(row), now);
  const hasFailed = row['error_type'] !== undefined || row['failure_reason'] !== undefined;
  // A person's decision is no failure of the integration.
  const isOurs = row['failure_reason'] === 'CANCELLED';
  const outcome = state === 'delivered' ? 'delivered' : hasFailed && !isOurs ? 'failing' : undefined;
  const updated_at = row['updated_at'];
  return { outcome, dead: state === 'dead', at: typeof updated_at === 'string' ? updated_at : '' } as const;
}
