import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { RecordStore } from '../../../core/delivery/ports.ts';
import type { RetryRecord } from '../../../core/model/notification.ts';
import { expiresAt } from '../../../core/model/work/history-index.ts';
import { gather, SETTLE_WAIT_MS } from '../../batching/gather.ts';
import { MAX_WRITES, putItems } from '../table/batch.ts';
import { toItem, toRetryRecord } from '../table/item.ts';

/** RecordStore on NotificationRetryLog. A record expires with the history that it belongs to. */
export function createRecordStore(client: DynamoDBClient, table: string): RecordStore {
  const put = gather<RetryRecord, void>(
    async (records) => {
      const items = records.map((record) => toItem({ ...record, expires_at: expiresAt(new Date(record.retry_at)) }));
      await putItems(client, table, items);
      return records.map(() => undefined);
    },
    { max: MAX_WRITES, wait_ms: SETTLE_WAIT_MS, keyOf: ({ retry_log_id }) => retry_log_id },
  );
  return {
    put,
    async find(log_id, attempt) {
      const Key = { original_log_id: { S: log_id }, retry_attempt: { N: String(attempt) } };
      const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
      return Item && toRetryRecord(Item);
    },
  };
}
