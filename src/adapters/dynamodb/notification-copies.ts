import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { notificationKey } from '../../core/history.ts';
import type { ForeignRow } from '../../core/row-rules.ts';
import { getItems, MAX_GETS } from './batch.ts';
import { toForeignRow } from './item.ts';
import { notificationQuery } from './lookups.ts';

export interface CopiesPage {
  /** In the index's order, which is none that means anything. */
  readonly rows: readonly ForeignRow[];
  /** The log_id after which there may be more. */
  readonly next?: string;
}

/**
 * One page of a notification's copies: at most a hundred rows are looked at, whatever is wanted of them.
 * @param after the log_id to go on from
 */
export async function readCopies(
  client: DynamoDBClient,
  table: string,
  { tenant_id, notification_id, after }: { tenant_id: string; notification_id: string; after?: string | undefined },
): Promise<CopiesPage> {
  const from = after !== undefined && {
    log_id: { S: after },
    notification_key: { S: notificationKey(tenant_id, notification_id) },
  };
  const { Items = [], LastEvaluatedKey } = await client.send(
    new QueryCommand({
      ...notificationQuery(table, tenant_id, notification_id),
      Limit: MAX_GETS,
      ...(from && { ExclusiveStartKey: from }),
    }),
  );
  const log_ids = Items.flatMap(({ log_id }) => log_id?.S ?? []);
  const keys = log_ids.map((log_id) => ({ log_id: { S: log_id } }));
  const items = keys.length === 0 ? [] : await getItems(client, table, keys, { consistent: false });
  const found = new Map(items.map((item) => [item['log_id']?.S, toForeignRow(item)] as const));
  const rows = log_ids
    .map((log_id) => found.get(log_id))
    .filter((row) => row !== undefined)
    .filter((row) => row['tenant_id'] === tenant_id && row['notification_id'] === notification_id);
  const next = LastEvaluatedKey?.['log_id']?.S;
  return { rows, ...(next !== undefined && { next }) };
}
