import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { IndexShards } from '../../../core/model/index-shards.ts';
import type { Clock } from '../../../core/model/time.ts';
import type { OperationRows } from '../../../core/operator/operations/operation.ts';
import { readPage } from '../operator/index-queries.ts';
import { createOperatorSearch, type SearchPosition } from '../operator/operator-search.ts';

/**
 * OperationRows on the indexes of NotificationLog.
 * @param shards the partitions of the indexes: as many as the stage ever had
 */
export function createOperationRows(
  client: DynamoDBClient,
  table: string,
  clock: Clock,
  shards: () => Promise<IndexShards>,
): OperationRows {
  const search = createOperatorSearch(client, table, clock, { consistent: true, shards });
  return {
    async page({ source, period, filter, after, limit }) {
      // Only this adapter makes positions.
      const position = after as SearchPosition | undefined;
      const parts =
        source === 'created' ? search.created(period, filter, position) : search.work(source, period, filter, position);
      const { rows, next } = await readPage(parts, limit, () => true);
      return { rows, ...(next && { next: { ...next } }) };
    },
  };
}
