import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { RowStore } from '../../../core/delivery/ports.ts';
import { type NotificationRow, UPDATED_BY } from '../../../core/model/notification.ts';
import { wasApplied } from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import { columnsOf, createGuardedUpdates } from './guarded-update.ts';
import { createRowReader } from './row-reader.ts';

/** Rows of NotificationLog, changed only while the guarded columns are as they were read. */
export function createGuardedRows(
  client: DynamoDBClient,
  table: string,
  clock: Clock,
  guarded: readonly (keyof NotificationRow)[],
): RowStore {
  const read = createRowReader(client, table);
  const update = createGuardedUpdates(client, table, read);
  return {
    read,

    change: (row, { set: given, remove = [] }) => {
      const set = { ...given, updated_at: clock().toISOString(), updated_by: UPDATED_BY };
      const asked = { log_id: row.log_id, set, remove, asRead: columnsOf(row, guarded) };
      return update.gathered(asked, (found) => wasApplied(found, { set, remove }));
    },
  };
}
