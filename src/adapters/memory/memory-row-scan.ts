import type { RowScan } from '../../core/indexing/reconcile.ts';
import { hasContent } from '../../core/model/foreign-row.ts';
import { UPDATED_BY } from '../../core/model/notification.ts';

type StoredRow = Readonly<Record<string, unknown>>;

/** Rows per page of a scan. */
const SCANNED = 250;

/** The reconciler's scan over rows in memory, for those that the pipeline may have missed. */
export function memoryRowScan(
  log: ReadonlyMap<string, StoredRow>,
  content: ReadonlyMap<string, { readonly sequence?: string }>,
): RowScan {
  return {
    page: async (after) => {
      const from = Number(after?.['from'] ?? 0);
      const page = [...log.values()].slice(from, from + SCANNED);
      const next = from + SCANNED < log.size ? { from: from + SCANNED } : undefined;
      const rows = page.filter((row) => !isOurs(row));
      return { rows, scanned: page.length, read_units: page.length / 10, ...(next && { next }) };
    },
    read: async (log_id) => {
      const row = log.get(log_id);
      return row && { row: { ...row }, sequence: content.get(log_id)?.sequence ?? '0' };
    },
  };
}

function isOurs(row: StoredRow): boolean {
  if (hasContent(row)) return false;
  const { updated_by, work_queue, failure_reason, send_status, history_bucket } = row;
  const ours = updated_by === UPDATED_BY && (typeof work_queue === 'string' || typeof failure_reason === 'string');
  return ours || (send_status === 'SUCCESS' && history_bucket !== undefined);
}
