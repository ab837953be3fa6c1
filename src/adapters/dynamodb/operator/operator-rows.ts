import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { RowStore } from '../../../core/delivery/ports.ts';
import type { Clock } from '../../../core/model/time.ts';
import { createGuardedRows } from '../table/guarded-update.ts';
import { STATE_COLUMNS } from '../table/guards.ts';

/** RowStore on NotificationLog, for operators. It also changes rows that are in no work index. */
export function createOperatorRows(client: DynamoDBClient, table: string, clock: Clock): RowStore {
  return createGuardedRows(client, table, clock, STATE_COLUMNS);
}
