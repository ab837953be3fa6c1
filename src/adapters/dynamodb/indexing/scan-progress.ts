import { type DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { ProgressStore, ScanProgress } from '../../../core/indexing/scheduled-scan.ts';
import { toItem } from '../table/item.ts';

const KEY = { kind: 'reconcile', id: 'scan' };

/** ProgressStore on PipelineState: one item that never expires. */
export function createScanProgress(client: DynamoDBClient, table: string): ProgressStore {
  return {
    async read() {
      const { Item } = await client.send(
        new GetItemCommand({ TableName: table, Key: toItem(KEY), ConsistentRead: true }),
      );
      if (Item === undefined) return undefined;
      const { kind: _, id: __, next, ...progress } = unmarshall(Item);
      return { ...progress, ...(next !== undefined && { next: JSON.parse(next) }) } as ScanProgress;
    },
    async write({ next, ...progress }) {
      const Item = toItem({ ...KEY, ...progress, next: next && JSON.stringify(next) });
      await client.send(new PutItemCommand({ TableName: table, Item }));
    },
  };
}
