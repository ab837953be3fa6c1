import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { WorkEntries } from '../../../core/operator/views/work-entries.ts';
import { WORK_INDEX } from '../schema.ts';
import type { Item } from '../table/item.ts';

/**
 * WorkEntries on NotificationLog's work index.
 * @param shards partitions per state and priority: as many as the stage ever had
 */
export function createWorkEntries(client: DynamoDBClient, table: string, shards: () => Promise<number>): WorkEntries {
  return {
    shards,

    async page(work_queue, { limit, newest = false, after, brief = false }) {
      const { Items = [], LastEvaluatedKey } = await client.send(
        new QueryCommand({
          TableName: table,
          IndexName: WORK_INDEX,
          KeyConditionExpression: 'work_queue = :queue',
          ExpressionAttributeValues: { ':queue': { S: work_queue } },
          ProjectionExpression: brief ? 'channel, work_at' : 'channel, work_at, tenant_id, log_id',
          ScanIndexForward: !newest,
          Limit: limit,
          ...(after && { ExclusiveStartKey: after as Item }),
        }),
      );
      // Without unmarshall: all are text, and there are thousands.
      const entries = Items.map((item) => ({
        log_id: item['log_id']?.S ?? '',
        tenant_id: item['tenant_id']?.S ?? '',
        channel: item['channel']?.S ?? '',
        work_at: item['work_at']?.S ?? '',
      }));
      return { entries, ...(LastEvaluatedKey && { next: LastEvaluatedKey }) };
    },
  };
}
