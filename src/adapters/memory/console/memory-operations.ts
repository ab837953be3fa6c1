import { parseWorkQueue } from '../../../core/model/work-index.ts';
import type { Operation, OperationRows, OperationStore } from '../../../core/operator/operations/operation.ts';
import { matches } from '../../../core/operator/search-filter.ts';
import type { MemoryTables } from '../memory-tables.ts';

/** OperationStore in memory. */
export function createMemoryOperations(): OperationStore {
  const stored = new Map<string, Operation>();
  return {
    async create(operation) {
      const known = stored.get(operation.operation_id);
      if (known !== undefined) return known;
      const first = { ...operation, version: 1 };
      stored.set(operation.operation_id, first);
      return first;
    },
    read: async (operation_id) => stored.get(operation_id),
    async change(was, { set, remove = [] }) {
      const found = stored.get(was.operation_id);
      if (found === undefined || found.version !== was.version) return undefined;
      const next: Record<string, unknown> = { ...found, ...set, version: found.version + 1 };
      for (const name of remove) delete next[name];
      // The columns of an operation, with the change of some of them.
      const changed = next as unknown as Operation;
      stored.set(was.operation_id, changed);
      return changed;
    },
    list: async ({ limit, before = '~' }) =>
      [...stored.values()]
        .filter(({ operation_id }) => operation_id < before)
        .sort((a, b) => (a.operation_id < b.operation_id ? 1 : -1))
        .slice(0, limit),
  };
}

/** OperationRows on the log in memory: by partition and time, as the index orders them. */
export function createMemoryOperationRows({ log }: Pick<MemoryTables, 'log'>): OperationRows {
  return {
    async page({ source, period, filter, after, limit }) {
      const wanted = [...log.values()]
        .flatMap((row) => {
          const partition = String(row['work_queue'] ?? '');
          const at = String(source === 'created' ? row['created_at'] : row['work_at']);
          const isThere = source === 'created' || parseWorkQueue(partition)?.state === source;
          if (!isThere || at < period.from || at > period.to) return [];
          return [{ row, place: `${source === 'created' ? '' : partition} ${at} ${row['log_id']}` }];
        })
        .filter(({ row, place }) => matches(row, filter) && place > (after?.['place'] ?? ''))
        .sort((a, b) => (a.place < b.place ? -1 : 1));
      const found = wanted.slice(0, limit);
      const last = found.at(-1);
      return {
        rows: found.map(({ row }) => ({ ...row })),
        ...(wanted.length > limit && last && { next: { place: last.place } }),
      };
    },
  };
}
