import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { NotificationRow } from '../../core/notification.ts';
import type { OperatorRows } from '../../core/operator/operator-rows.ts';
import type { Clock } from '../../core/time.ts';
import { gather } from '../gather.ts';
import { getItems, MAX_GETS } from './batch.ts';
import { type Item, toNotificationRow, toValue } from './item.ts';
import { updateExpression } from './update-expression.ts';

/** What has to be as it was read. The attempt's number changes with each claim, so a claim in between is noticed. */
const GUARDED = ['send_status', 'last_attempt', 'work_queue', 'work_at'] as const;

/** OperatorRows on NotificationLog. Unlike the pipeline's own store it also changes rows that are in no work index. */
export function createOperatorRows(client: DynamoDBClient, table: string, clock: Clock): OperatorRows {
  return {
    read: gather<string, NotificationRow | undefined>(
      async (log_ids) => {
        const keys = [...new Set(log_ids)].map((log_id) => ({ log_id: { S: log_id } }));
        const items = await getItems(client, table, keys, { consistent: true });
        const rows = new Map(items.map(toNotificationRow).map((row) => [row.log_id, row]));
        return log_ids.map((log_id) => rows.get(log_id));
      },
      { max: MAX_GETS },
    ),

    async change(row, { set, remove }) {
      const update = updateExpression({
        set: { ...set, updated_at: clock().toISOString() },
        ...(remove && { remove }),
      });
      const guard = asRead(row);
      try {
        await client.send(
          new UpdateItemCommand({
            TableName: table,
            Key: { log_id: { S: row.log_id } },
            UpdateExpression: update.expression,
            ConditionExpression: guard.condition,
            ExpressionAttributeNames: { ...update.names, ...guard.names },
            ExpressionAttributeValues: { ...update.values, ...guard.values },
          }),
        );
        return true;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return false;
        throw error;
      }
    },
  };
}

function asRead(row: NotificationRow): { condition: string; names: Record<string, string>; values: Item } {
  const names: Record<string, string> = {};
  const values: Item = {};
  const conditions = GUARDED.map((column, i) => {
    names[`#g${i}`] = column;
    if (row[column] === undefined) return `attribute_not_exists(#g${i})`;
    values[`:g${i}`] = toValue(row[column]);
    // Reading supplies −1 for a row that was never attempted.
    const absent = column === 'last_attempt' && row[column] === -1 ? `attribute_not_exists(#g${i}) OR ` : '';
    return `(${absent}#g${i} = :g${i})`;
  });
  return { condition: conditions.join(' AND '), names, values };
}
