import type { ReportStore } from '../../../core/intake/report-failure.ts';
import type { Clock } from '../../../core/model/time.ts';
import { createClaimStore } from '../delivery/claim-store.ts';
import { createIndexStore, type IndexStoreOptions } from '../indexing/index-store.ts';
import { toForeignRow } from '../table/item.ts';
import { readItem } from '../table/read-item.ts';

/** ReportStore: changes rows as the channel functions do, and indexes new rows as the indexer does. */
export function createReportStore(options: IndexStoreOptions, clock: Clock): ReportStore {
  const { client, tables } = options;
  const { change, settle } = createClaimStore(client, tables.notification_log, clock);
  return {
    ...createIndexStore(options),
    change,
    settle,
    async readRow(log_id) {
      const item = await readItem(client, tables.notification_log, log_id);
      return item && toForeignRow(item);
    },
  };
}
