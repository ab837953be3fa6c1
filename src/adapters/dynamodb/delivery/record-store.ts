import { type DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { RECORD_CALL_MS } from '../../../core/delivery/policy/attempt-times.ts';
import type { RecordStore } from '../../../core/delivery/ports.ts';
import { isStored, RECORD_GUARD } from '../../../core/delivery/retry-record.ts';
import { expiresAt } from '../../../core/model/history-index.ts';
import type { RetryRecord } from '../../../core/model/notification.ts';
import { GatheredError, gather, RECORD_HOLD_MS, SETTLE_WAIT_MS, type SendsUnderWay } from '../../batching/gather.ts';
import { withinLimit } from '../../batching/time-limit.ts';
import { executeStatements, insertStatement, MAX_STATEMENTS } from '../table/batch.ts';
import { putGuarded } from '../table/guarded-update.ts';
import { asRead } from '../table/guards.ts';
import { type Item, toItem, toRetryRecord } from '../table/item.ts';

/**
 * RecordStore on NotificationRetryLog. A record expires with the history that it belongs to.
 * @param sends records wait a little for those of sends that are under way
 */
export function createRecordStore(client: DynamoDBClient, table: string, sends?: SendsUnderWay): RecordStore {
  const itemOf = (record: RetryRecord) => toItem({ ...record, expires_at: expiresAt(new Date(record.retry_at)) });
  const insert = gather<RetryRecord, boolean>(
    async (records) => {
      const statements = records.map((record) => insertStatement(table, itemOf(record)));
      const results = await inTime(executeStatements(client, statements));
      return results.map((result) => {
        if (result instanceof GatheredError || result.applied) return result instanceof GatheredError ? result : true;
        return result.invalid === undefined ? false : new GatheredError(new Error(result.invalid));
      });
    },
    {
      wait_ms: SETTLE_WAIT_MS,
      keyOf: ({ retry_log_id }) => retry_log_id,
      max: MAX_STATEMENTS,
      hold: sends && { sends, most_ms: RECORD_HOLD_MS },
    },
  );
  const find: RecordStore['find'] = async (log_id, attempt) => {
    const Key = { original_log_id: { S: log_id }, retry_attempt: { N: String(attempt) } };
    const get = new GetItemCommand({ TableName: table, Key, ConsistentRead: true });
    const { Item } = await inTime(client.send(get));
    return Item && toRetryRecord(Item);
  };
  return {
    async putIfAbsent(record) {
      if (await insert(record)) return true;
      return isStored(record, await find(record.original_log_id, record.retry_attempt));
    },
    async replace(record, read) {
      const { applied } = await inTime(putGuarded(client, table, itemOf(record), [asRead(read, RECORD_GUARD)]));
      return applied || isStored(record, await find(record.original_log_id, record.retry_attempt));
    },
    find,
  };
}

const inTime = <T>(call: Promise<T>) => withinLimit(call, RECORD_CALL_MS, 'RetryLog');

/** All retry records of a notification, in the order of the attempts. */
export async function readRecords(client: DynamoDBClient, table: string, log_id: string): Promise<RetryRecord[]> {
  const records: RetryRecord[] = [];
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'original_log_id = :id',
        ExpressionAttributeValues: { ':id': { S: log_id } },
        ConsistentRead: true,
        ...(ExclusiveStartKey && { ExclusiveStartKey }),
      }),
    );
    records.push(...(page.Items ?? []).map(toRetryRecord));
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
  return records;
}
