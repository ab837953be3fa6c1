import { type DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { RecordStore } from '../../../core/delivery/ports.ts';
import type { RetryRecord } from '../../../core/model/notification.ts';
import { expiresAt } from '../../../core/model/work/history-index.ts';
import { gather, RECORD_HOLD_MS, SETTLE_WAIT_MS } from '../../batching/gather.ts';
import type { SendsUnderWay } from '../../batching/sends-under-way.ts';
import { MAX_WRITES, putItems } from '../table/batch.ts';
import { ifConditionHolds } from '../table/conditional-write.ts';
import { toItem, toRetryRecord } from '../table/item.ts';

/**
 * RecordStore on NotificationRetryLog. A record expires with the history that it belongs to.
 * @param sends records wait a little for those of sends that are under way
 */
export function createRecordStore(client: DynamoDBClient, table: string, sends?: SendsUnderWay): RecordStore {
  const itemOf = (record: RetryRecord) => toItem({ ...record, expires_at: expiresAt(new Date(record.retry_at)) });
  const put = gather<RetryRecord, void>(
    async (records) => {
      await putItems(client, table, records.map(itemOf));
      return records.map(() => undefined);
    },
    {
      max: MAX_WRITES,
      wait_ms: SETTLE_WAIT_MS,
      hold: sends && { sends, most_ms: RECORD_HOLD_MS },
      keyOf: ({ retry_log_id }) => retry_log_id,
    },
  );
  return {
    put,
    putIfAbsent(record) {
      const ConditionExpression = 'attribute_not_exists(original_log_id)';
      const command = new PutItemCommand({ TableName: table, Item: itemOf(record), ConditionExpression });
      return ifConditionHolds(
        client.send(command).then(() => true),
        false,
      );
    },
    async find(log_id, attempt) {
      const Key = { original_log_id: { S: log_id }, retry_attempt: { N: String(attempt) } };
      const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
      return Item && toRetryRecord(Item);
    },
  };
}
