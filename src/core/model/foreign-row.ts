import { entryOf } from './look-up.ts';
import type { NotificationRow } from './notification.ts';
import { PRIORITIES, PRIORITY_OF_LEVEL, type Priority } from './priorities.ts';

/** A row as its writer left it, with any attributes of any type. */
export type ForeignRow = Readonly<Record<string, unknown>>;

/** The columns of the content; FALLBACK_COLUMNS: of the fallback recipient (failover.ts), which few rows have. */
export const CONTENT_COLUMNS = ['recipient_address', 'subject', 'message_body', 'message_format'] as const;
export const FALLBACK_COLUMNS = ['fallback_recipient', 'fallback_integration_config_id'] as const;

/** The row holds content or recipients, which must not stay in it: its writer has put them there since it was taken in. */
export function hasContent(row: ForeignRow): boolean {
  return [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].some((column) => (row[column] ?? null) !== null);
}

/** A row as the pipeline reads it, with defaults for the counters that its writer left out. */
export function asNotification(row: ForeignRow): NotificationRow {
  return { ...row, send_attempts: 0, attempts_left: 0, retry_count: 0, last_attempt: -1, ...row } as NotificationRow;
}

/** The row's own priority, else the priority of its priority_level; normal where it names none that exists. */
export function priorityOf(row: ForeignRow): Priority {
  const named = PRIORITIES.find((candidate) => candidate === row['priority']);
  return named ?? entryOf<Priority>(PRIORITY_OF_LEVEL, row['priority_level']) ?? 'normal';
}
