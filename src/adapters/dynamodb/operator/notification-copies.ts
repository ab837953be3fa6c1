import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { notificationKey } from '../../../core/model/history-index.ts';
import type { ForeignRow } from '../../../core/model/notification.ts';
import { NOTIFICATION_INDEX } from '../schema.ts';
import { toItem } from '../table/item.ts';
import { MAX_GETS, queryPages, rowsById } from '../table/reads.ts';

export interface Copy {
  readonly row: ForeignRow;
  /** Partition and log_id of the copy. The next page starts after it. */
  readonly position: string;
}

export interface CopiesOf {
  readonly tenant_id: string;
  readonly notification_id: string;
  readonly after?: string | undefined;
  /** Partitions of a notification: as many as the stage ever had. */
  readonly shards: number;
}

/**
 * Reads the copies of a notification, up to a hundred at a time, in the order of the index, which has no meaning. Rows
 * of another tenant that share the index key by chance are skipped, and neither their ids nor their number is revealed.
 */
export async function* readCopies(
  client: DynamoDBClient,
  table: string,
  { tenant_id, notification_id, after, shards }: CopiesOf,
): AsyncGenerator<{ readonly found: readonly Copy[] }> {
  const from = after === undefined ? undefined : parsePosition(after);
  for (let partition = from?.partition ?? 0; partition < shards; partition++) {
    const key = notificationKey(tenant_id, notification_id, partition);
    const pages = queryPages(client, {
      table,
      index: NOTIFICATION_INDEX,
      key: { notification_key: key },
      columns: ['log_id'],
      limit: MAX_GETS,
      after: partition === from?.partition ? toItem({ log_id: from.log_id, notification_key: key }) : undefined,
    });
    for await (const { items } of pages) {
      const log_ids = items.flatMap(({ log_id }) => log_id?.S ?? []);
      const rows = await rowsById(client, table, log_ids);
      const found = log_ids.flatMap((log_id) => {
        const row = rows.get(log_id);
        return row?.['tenant_id'] === tenant_id && row['notification_id'] === notification_id
          ? [{ row, position: positionOf(partition, log_id) }]
          : [];
      });
      if (found.length > 0) yield { found };
    }
  }
}

const positionOf = (partition: number, log_id: string): string => `#${partition}#${log_id}`;

/** Undefined for what is no position. */
function parsePosition(position: string): { readonly partition: number; readonly log_id: string } | undefined {
  const [, partition, log_id] = /^#(\d+)#(.*)$/s.exec(position) ?? [];
  return partition === undefined || log_id === undefined ? undefined : { partition: Number(partition), log_id };
}
