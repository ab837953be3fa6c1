import { parseWorkQueue } from '../../../core/model/work-index.ts';
import type { OperationRows } from '../../../core/operator/operations/operation.ts';
import { matches } from '../../../core/operator/search-filter.ts';
import type { MemoryTables } from '../memory-tables.ts';

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
