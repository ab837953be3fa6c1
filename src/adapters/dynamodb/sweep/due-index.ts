import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { DueIndex, DueItem } from '../../../core/model/work-index.ts';
import { WORK_INDEX } from '../schema.ts';
import type { Item } from '../table/item.ts';

/** DueIndex on NotificationLog's work index. */
export function createDueIndex(client: DynamoDBClient, table: string): DueIndex {
  return {
    async page(work_queue, { until, limit, from = '0', after }) {
      const { Items = [], LastEvaluatedKey } = await client.send(
        new QueryCommand({
          TableName: table,
          IndexName: WORK_INDEX,
          KeyConditionExpression: 'work_queue = :queue AND work_at BETWEEN :from AND :until',
          ExpressionAttributeValues: { ':queue': { S: work_queue }, ':from': { S: from }, ':until': { S: until } },
          Limit: limit,
          ...(after && { ExclusiveStartKey: after as Item }),
        }),
      );
      return { items: Items.map(toDueItem), ...(LastEvaluatedKey && { next: LastEvaluatedKey }) };
    },
  };
}

/** Reads the attributes without unmarshall: all are text, and the dispatcher reads thousands of items. */
function toDueItem(item: Item): DueItem {
  const text = (name: string) => item[name]?.S ?? '';
  return {
    log_id: text('log_id'),
    tenant_id: text('tenant_id'),
    channel: text('channel') as DueItem['channel'],
    priority: text('priority') as DueItem['priority'],
    work_at: text('work_at'),
    ...(item['queued_for']?.S !== undefined && { queued_for: item['queued_for'].S }),
  };
}
