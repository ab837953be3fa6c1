import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Channel } from '../../../core/model/channels.ts';
import type { DueIndex } from '../../../core/model/work-index.ts';
import { readEntries } from '../../../core/model/work-rules.ts';
import { WORK_INDEX } from '../schema.ts';
import type { Item } from '../table/item.ts';
import { query } from '../table/reads.ts';

/**
 * DueIndex on NotificationLog's work index.
 * @param shards partitions per state and priority: as many as the stage ever had
 * @param channels those of the stage: what has been due on others for a day counts as malformed
 */
export function createDueIndex(
  client: DynamoDBClient,
  table: string,
  shards: () => Promise<number>,
  channels?: readonly Channel[],
): DueIndex {
  return {
    shards,

    async page(work_queue, { until, limit, from, after, channels: only }) {
      const { items, next } = await query(client, {
        table,
        index: WORK_INDEX,
        key: { work_queue },
        limit,
        after,
        // Without a lower bound: another writer's work_at may be below any time.
        range: from === undefined ? ['work_at', '<=', until] : ['work_at', 'between', from, until],
        only: only && ['channel', 'in', only],
      });
      return { ...readEntries(work_queue, items.map(toEntry), until, channels), ...(next && { next }) };
    },
  };
}

/** Reads the attributes without unmarshall: all are text, and the dispatcher reads thousands of items. */
function toEntry(item: Item): Record<string, string | undefined> {
  return {
    log_id: item['log_id']?.S,
    tenant_id: item['tenant_id']?.S,
    channel: item['channel']?.S,
    priority: item['priority']?.S,
    work_at: item['work_at']?.S,
    ...(item['queued_for']?.S !== undefined && { queued_for: item['queued_for'].S }),
  };
}
