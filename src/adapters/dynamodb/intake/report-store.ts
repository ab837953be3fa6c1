import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { ReportStore } from '../../../core/intake/report-failure.ts';
import type { Clock } from '../../../core/model/time.ts';
import { createClaimStore } from '../delivery/claim-store.ts';
import { createIndexStore, type IndexStoreOptions } from '../indexing/index-store.ts';
import { toForeignRow } from '../table/item.ts';

/** ReportStore: what a channel function does with a row, and what the indexer does with one that is not taken in yet. */
export function createReportStore(options: IndexStoreOptions, clock: Clock): ReportStore {
  const { client, tables } = options;
  const { change, settle } = createClaimStore(client, tables.notification_log, clock);
  return {
    ...createIndexStore(options),
    change,
    settle,
    async readRow(log_id) {
      const Key = { log_id: { S: log_id } };
      const { Item } = await client.send(
        new GetItemCommand({ TableName: tables.notification_log, Key, ConsistentRead: true }),
      );
      return Item && toForeignRow(Item);
    },
  };
}
