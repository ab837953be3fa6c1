import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { RowStore } from '../../../core/delivery/ports.ts';
import { type NotificationRow, UPDATED_BY } from '../../../core/model/notification.ts';
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
  const update = createGuardedUpdates(client, table);
  return {
    read: createRowReader(client, table),

    change: (row, { set, remove = [] }) =>
      update({
        log_id: row.log_id,
        set: { ...set, updated_at: clock().toISOString(), updated_by: UPDATED_BY },
        remove,
        asRead: columnsOf(row, guarded),
      }),
  };
}
