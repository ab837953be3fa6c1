import type { Channel } from '../../core/model/channels.ts';
import type { ForeignRow } from '../../core/model/notification.ts';
import type { DueIndex, DueItem, PageCursor } from '../../core/model/work-index.ts';
import { readEntries } from '../../core/model/work-rules.ts';
import type { MemoryShards } from './memory-pipeline-state.ts';

/** The work index over rows in memory. */
export function memoryDueIndex(
  log: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  shards: MemoryShards,
  channels?: readonly Channel[],
): DueIndex {
  return {
    shards: async () => (await shards.read()).work,
    page: async (work_queue, { until, limit, from = '', after }) => {
      const inside = (work_at: string) => work_at >= from && work_at <= until;
      const found: DueItem[] = [];
      for (const row of log.values())
        if (row['work_queue'] === work_queue && inside(String(row['work_at']))) found.push(row as unknown as DueItem);
      if (found.length === 0) return { items: [] };
      const items = found
        .sort((a, b) => compare(position(a), position(b)))
        .filter((item) => after === undefined || position(item) > String(after['position']));
      const page = items.slice(0, limit);
      const last = page.at(-1);
      const next: PageCursor | undefined = items.length > limit && last ? { position: position(last) } : undefined;
      return { ...readEntries(work_queue, page as unknown as ForeignRow[], until, channels), ...(next && { next }) };
    },
  };
}

function position({ work_at, log_id }: DueItem): string {
  return `${work_at} ${log_id}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
