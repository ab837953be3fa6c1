import type { NotificationRow } from '../notification.ts';
import { parseTime } from '../time.ts';

/**
 * When a notification was given up. A dead one is in the work index since then; one that stopped without a dead letter is
 * in no index, and its last change was its end. Undefined if another writer left no time.
 */
export function failedAt(
  row: Readonly<Partial<NotificationRow>> & { readonly updated_at?: unknown },
): string | undefined {
  return [row.work_at, row.updated_at]
    .map((time) => (typeof time === 'string' ? parseTime(time)?.toISOString() : undefined))
    .find((time) => time !== undefined);
}
