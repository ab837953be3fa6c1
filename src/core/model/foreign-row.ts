import { entryOf } from './look-up.ts';
import type { NotificationRow } from './notification.ts';
import { PRIORITIES, PRIORITY_OF_LEVEL, type Priority } from './priorities.ts';

/** A row as its writer left it, with any attributes of any type. */
export type ForeignRow = Readonly<Record<string, unknown>>;

/** A row as the pipeline reads it, with defaults for the counters that its writer left out. */
export function asNotification(row: ForeignRow): NotificationRow {
  return { ...row, send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1, ...row } as NotificationRow;
}

/** The row's own priority, else the priority of its priority_level; normal where it names none that exists. */
export function priorityOf(row: ForeignRow): Priority {
  const named = PRIORITIES.find((candidate) => candidate === row['priority']);
  return named ?? entryOf<Priority>(PRIORITY_OF_LEVEL, row['priority_level']) ?? 'normal';
}
