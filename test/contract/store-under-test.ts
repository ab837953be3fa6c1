import type { SuccessorStore } from '../../src/core/delivery/failover.ts';
import type { ClaimStore, ContentStore, RecordStore, RowStore } from '../../src/core/delivery/ports.ts';
import type { EventRows } from '../../src/core/delivery-events/apply-delivery-event.ts';
import type { IndexStore } from '../../src/core/indexing/index-row.ts';
import type { RowScan } from '../../src/core/indexing/reconcile.ts';
import type { ForeignRow, NotificationRow } from '../../src/core/model/notification.ts';
import { type DueIndex, workQueueOf } from '../../src/core/model/work-index.ts';
import type { CorrectionStore } from '../../src/core/operator/correct.ts';
import type { MalformedEntries } from '../../src/core/sweep/walk.ts';
import { dueRow, iso } from '../support/rows.ts';

/** One implementation of the storage ports, on tables of its own. */
export interface StoreUnderTest {
  readonly rows: ClaimStore;
  readonly eventRows: EventRows;
  readonly operatorRows: RowStore;
  readonly malformed: MalformedEntries;
  readonly records: RecordStore;
  readonly contents: ContentStore;
  readonly dueIndex: DueIndex;
  readonly indexStore: IndexStore;
  readonly scan: RowScan;
  readonly successors: SuccessorStore;
  readonly corrections: CorrectionStore;
  /** Puts a row as any writer could. */
  put(row: ForeignRow): Promise<void>;
  get(log_id: string): Promise<ForeignRow | undefined>;
}

export const UNTIL = iso(60_000);
let serial = 0;
/** A due row with a log_id of its own. */
export const fresh = (changes: Partial<NotificationRow> = {}) => {
  const log_id = `log-${++serial}-${Math.random().toString(36).slice(2)}`;
  const priority = changes.priority ?? 'normal';
  return dueRow({ log_id, work_queue: workQueueOf('due', priority, log_id), ...changes });
};

export async function putFresh(
  store: StoreUnderTest,
  changes: Partial<NotificationRow> = {},
): Promise<NotificationRow> {
  const row = fresh(changes);
  await store.put({ ...row });
  return row;
}
