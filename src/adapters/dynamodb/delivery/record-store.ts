import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { RECORD_CALL_MS } from '../../../core/delivery/policy/attempt-times.ts';
import type { RecordStore } from '../../../core/delivery/ports.ts';
import { isStored } from '../../../core/delivery/retry-record.ts';
import type { RetryRecord } from '../../../core/model/notification.ts';
import { expiresAt } from '../../../core/model/work/history-index.ts';
import { gather, RECORD_HOLD_MS, SETTLE_WAIT_MS } from '../../batching/gather.ts';
import type { SendsUnderWay } from '../../batching/sends-under-way.ts';
import { withinLimit } from '../../batching/time-limit.ts';
import { MAX_WRITES, putItems } from '../table/batch.ts';
import { toItem, toRetryRecord } from '../table/item.ts';

/**
 * RecordStore on NotificationRetryLog. A record expires with the history that it belongs to.
 * @param sends records wait a little for those of sends that are under way
 */
export function createRecordStore(client: DynamoDBClient, table: string, sends?: SendsUnderWay): RecordStore {
  const itemOf = (record: RetryRecord) => toItem({ ...record, expires_at: expiresAt(new Date(record.retry_at)) });
  const put = gather<RetryRecord, void>(
    async (records) => {
      await inTime(putItems(client, table, records.map(itemOf)));
      return records.map(() => undefined);
    },
    {
      max: MAX_WRITES,
      wait_ms: SETTLE_WAIT_MS,
      hold: sends && { sends, most_ms: RECORD_HOLD_MS },
      keyOf: ({ retry_log_id }) => retry_log_id,
    },
  );
  const find: RecordStore['find'] = async (log_id, attempt) => {
    const Key = { original_log_id: { S: log_id }, retry_attempt: { N: String(attempt) } };
    const get = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
    const { Item } = await inTime(client.send(get));
    return Item && toRetryRecord(Item);
  };
  return {
    put,
    async putIfAbsent(record) {
      const command = new PutItemCommand({
        TableName: table,
        Item: itemOf(record),
        ConditionExpression: 'attribute_not_exists(original_log_id)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      try {
        await inTime(client.send(command));
        return true;
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        // Emulators do not return the item of a failed condition; AWS does.
        const { original_log_id, retry_attempt } = record;
        return isStored(record, error.Item ? toRetryRecord(error.Item) : await find(original_log_id, retry_attempt));
      }
    },
    find,
  };
}

const inTime = <T>(call: Promise<T>) => withinLimit(call, RECORD_CALL_MS, 'RetryLog');
