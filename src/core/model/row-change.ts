import type { NotificationRow } from './notification.ts';

/** Changes to a row: attributes to set, attributes to remove. */
export interface RowChange {
  readonly set: Partial<NotificationRow>;
  readonly remove?: readonly (keyof NotificationRow)[];
}

export function withChange(row: NotificationRow, change: RowChange): NotificationRow {
  const next: Record<string, unknown> = { ...row, ...change.set };
  for (const name of change.remove ?? []) delete next[name];
  return next as unknown as NotificationRow;
}
