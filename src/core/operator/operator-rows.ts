import type { NotificationRow } from '../model/notification.ts';
import type { RowChange } from '../model/row-change.ts';

/** NotificationLog, as an operator's commands need it. */
export interface OperatorRows {
  /** The row as it is now; undefined when there is none. */
  read(log_id: string): Promise<NotificationRow | undefined>;
  /** Applies the change if status, attempt and place in the work index are still as they were read; else false. */
  change(row: NotificationRow, change: RowChange): Promise<boolean>;
}

/** How often a row that changes between reading and writing is looked at anew. */
export const TRIES = 3;
