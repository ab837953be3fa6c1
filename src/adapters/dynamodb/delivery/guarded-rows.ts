import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { RowStore } from '../../../core/delivery/ports.ts';
import { CANCELLATION } from '../../../core/delivery/transitions/without-attempt.ts';
import type { EventRows } from '../../../core/delivery-events/apply-delivery-event.ts';
import type { NotificationRow } from '../../../core/model/notification.ts';
import { GIVEN_COLUMNS } from '../../../core/model/notification.ts';
import {
  asRead,
  CLAIM_COLUMNS,
  type Guard,
  type RowChange,
  STATE_COLUMNS,
  stamped,
  wasApplied,
} from '../../../core/model/row-change.ts';
import type { Clock } from '../../../core/model/time.ts';
import { createRowReader } from '../table/reads.ts';
import { createGuardedUpdates } from '../table/statements.ts';
import { conditionOf, transact, updateExpression } from '../table/writes.ts';

/**
 * For delivery events: two of them can come at once, in one millisecond, and neither changes the row's state. What its
 * writer has put into a delivered row is taken in without a change of it, too.
 */
export const EVENT_COLUMNS = [...CLAIM_COLUMNS, 'updated_at', 'next_life'] as const;

/** For an erasure: what its writer puts into the row between the read and the write is another recipient's. */
export const ERASED_COLUMNS = [...STATE_COLUMNS, ...GIVEN_COLUMNS] as const;

/** The columns of a row as they were found, and what events have shown: while it is sent, and later ones, that is noted without a change of its state. */
export function asFound(row: NotificationRow, columns: readonly string[]): Guard {
  const shown = row.send_status === 'SENDING' || row.delivery_by_attempt !== undefined;
  const more = shown && !columns.includes('delivery_by_attempt') ? ['delivery_by_attempt'] : [];
  return asRead<string>({ ...row }, [...columns, ...more]);
}

/** Rows of NotificationLog, changed only while the guarded columns are as they were read. */
function createGuardedRows(client: DynamoDBClient, table: string, clock: Clock, guarded: readonly string[]): RowStore {
  const read = createRowReader(client, table);
  const update = createGuardedUpdates(client, table, read);
  return {
    read,

    change: (row, given) => {
      const change = stamped(row, given, { now: clock(), random: Math.random });
      const asked = { log_id: row.log_id, ...change, guard: asFound(row, guarded) };
      return update.gathered(asked, (found) => wasApplied(found, change));
    },
  };
}

export function createEventRows(client: DynamoDBClient, table: string, clock: Clock): EventRows {
  const { read, change } = createGuardedRows(client, table, clock, EVENT_COLUMNS);
  const updateOf = (row: NotificationRow, given: RowChange, columns: readonly string[]) => {
    const change = stamped(row, given, { now: clock(), random: Math.random });
    const { expression: UpdateExpression, ...update } = updateExpression(change);
    const condition = conditionOf([asRead<string>({ ...row }, columns)], update);
    return { Update: { TableName: table, Key: { log_id: { S: row.log_id } }, UpdateExpression, ...condition } };
  };
  return {
    read,
    async change(row, given, successor) {
      if (successor === undefined) return change(row, given);
      const TransactItems = [updateOf(row, given, EVENT_COLUMNS), updateOf(successor, CANCELLATION, STATE_COLUMNS)];
      return transact(client, TransactItems);
    },
  };
}

/** RowStore on NotificationLog, for operators. It also changes rows that are in no work index. */
export function createOperatorRows(client: DynamoDBClient, table: string, clock: Clock): RowStore {
  return createGuardedRows(client, table, clock, STATE_COLUMNS);
}

/** RowStore on NotificationLog for an erasure, which also depends on what the row's writer has put into it. */
export function createForgetRows(client: DynamoDBClient, table: string, clock: Clock): RowStore {
  return createGuardedRows(client, table, clock, ERASED_COLUMNS);
}
