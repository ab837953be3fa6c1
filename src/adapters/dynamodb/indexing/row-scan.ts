import { type DynamoDBClient, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { ProgressStore, RowScan, ScanProgress } from '../../../core/indexing/reconcile.ts';
import { CONTENT_COLUMNS, FALLBACK_COLUMNS, UPDATED_BY } from '../../../core/model/notification.ts';
import { storedSequence } from '../delivery/content-items.ts';
import { type Item, toForeignRow, toItem } from '../table/item.ts';
import { getItem, itemsOf, readItem } from '../table/reads.ts';
import type { IndexStoreOptions } from './index-store.ts';

/** Rows per page: about 20 read units of ours, and few enough to take in between two looks at the clock. */
const PAGE_SIZE = 250;

/**
 * RowScan on NotificationLog. The filter leaves out what is certainly ours: rows without content that the pipeline wrote
 * last, with work or with a reason why there is none, and delivered rows that are in the history.
 */
export function createRowScan(
  client: DynamoDBClient,
  tables: Pick<IndexStoreOptions['tables'], 'notification_log' | 'notification_content'>,
): RowScan {
  return {
    async page(after) {
      const answer = await client.send(
        new ScanCommand({
          TableName: tables.notification_log,
          Limit: PAGE_SIZE,
          FilterExpression:
            `${[...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].map((column) => `attribute_exists(${column})`).join(' OR ')} OR (` +
            'NOT (updated_by = :us AND (attribute_type(work_queue, :text) OR attribute_type(failure_reason, :text))) ' +
            'AND NOT (send_status = :delivered AND attribute_exists(history_bucket)))',
          ExpressionAttributeValues: { ':us': { S: UPDATED_BY }, ':text': { S: 'S' }, ':delivered': { S: 'SUCCESS' } },
          ReturnConsumedCapacity: 'TOTAL',
          ...(after && { ExclusiveStartKey: after as Item }),
        }),
      );
      const { ScannedCount, ConsumedCapacity, LastEvaluatedKey } = answer;
      return {
        rows: itemsOf(answer).map(toForeignRow),
        scanned: ScannedCount ?? 0,
        read_units: ConsumedCapacity?.CapacityUnits ?? 0,
        ...(LastEvaluatedKey && { next: LastEvaluatedKey }),
      };
    },

    async read(log_id) {
      // In this order: content that the indexer stores after this read is recognised as later.
      const content = await readItem(client, tables.notification_content, log_id, ['image_sequence']);
      const row = await readItem(client, tables.notification_log, log_id);
      return row && { row: toForeignRow(row), sequence: storedSequence(content), unseen: true };
    },
  };
}

const KEY = { kind: 'reconcile', id: 'scan' };

/** ProgressStore on PipelineState: one item that never expires. */
export function createScanProgress(client: DynamoDBClient, table: string): ProgressStore {
  return {
    async read() {
      const item = await getItem(client, table, toItem(KEY));
      if (item === undefined) return undefined;
      const { kind: _, id: __, next, ...progress } = unmarshall(item);
      return { ...progress, ...(next !== undefined && { next: JSON.parse(next) }) } as ScanProgress;
    },
    async write({ next, ...progress }) {
      const Item = toItem({ ...KEY, ...progress, next: next && JSON.stringify(next) });
      await client.send(new PutItemCommand({ TableName: table, Item }));
    },
  };
}
