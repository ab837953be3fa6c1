import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { EventRows } from '../../../core/delivery-events/apply-delivery-event.ts';
import type { Clock } from '../../../core/model/time.ts';
import { createGuardedRows } from '../table/guarded-update.ts';
import { EVENT_COLUMNS } from '../table/guards.ts';

/** EventRows on NotificationLog. */
export function createEventRows(client: DynamoDBClient, table: string, clock: Clock): EventRows {
  return createGuardedRows(client, table, clock, EVENT_COLUMNS);
}
