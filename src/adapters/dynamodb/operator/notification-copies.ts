import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { ForeignRow } from '../../../core/model/foreign-row.ts';
import { notificationKey } from '../../../core/model/work/history-index.ts';
import { getItems, MAX_GETS } from '../table/batch.ts';
import { type Item, toForeignRow } from '../table/item.ts';
import { notificationQuery } from './index-queries.ts';

export interface Copy {
  readonly row: ForeignRow;
  /** The log_id of the copy. The next page starts after it. */
  readonly position: string;
}

/** Most consecutive index pages, of a hundred entries each, without a copy of the notification. */
const MAX_FOREIGN_PAGES = 50;

/** So many rows of other notifications share the index key that no copy was found among them. */
export class CrowdedKeyError extends Error {
  override readonly name = 'CrowdedKeyError';
}

/**
 * Reads the copies of a notification, up to a hundred at a time, in the order of the index, which has no meaning. Rows
 * of other tenants can share the index key, by chance or on purpose. They are skipped, and neither their ids nor their
 * number is revealed.
 * @param after the log_id after which to start
 * @throws CrowdedKeyError
 */
export async function* readCopies(
  client: DynamoDBClient,
  table: string,
  { tenant_id, notification_id, after }: { tenant_id: string; notification_id: string; after?: string | undefined },
): AsyncGenerator<{ readonly found: readonly Copy[] }> {
  const query = { ...notificationQuery(table, tenant_id, notification_id), Limit: MAX_GETS };
  const notification_key = { S: notificationKey(tenant_id, notification_id) };
  let ExclusiveStartKey: Item | undefined =
    after === undefined ? undefined : { log_id: { S: after }, notification_key };
  let foreignPages = 0;
  do {
    const page = await client.send(new QueryCommand({ ...query, ...(ExclusiveStartKey && { ExclusiveStartKey }) }));
    const log_ids = (page.Items ?? []).flatMap(({ log_id }) => log_id?.S ?? []);
    const keys = log_ids.map((log_id) => ({ log_id: { S: log_id } }));
    const items = await getItems(client, table, keys, { consistent: false });
    const rows = new Map(items.map((item) => [item['log_id']?.S, toForeignRow(item)] as const));
    const found = log_ids.flatMap((position) => {
      const row = rows.get(position);
      const isOwn = row?.['tenant_id'] === tenant_id && row['notification_id'] === notification_id;
      return isOwn ? [{ row, position }] : [];
    });
    if (found.length > 0) yield { found };
    foreignPages = found.length > 0 ? 0 : foreignPages + 1;
    ExclusiveStartKey = page.LastEvaluatedKey;
    if (ExclusiveStartKey !== undefined && foreignPages === MAX_FOREIGN_PAGES) throw new CrowdedKeyError();
  } while (ExclusiveStartKey !== undefined);
}
