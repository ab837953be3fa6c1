import { PRIORITIES, type Priority } from '../priorities.ts';
import {
  allShards,
  type DueIndex,
  type PageCursor,
  type PageQuery,
  type WorkPage,
  type WorkState,
} from '../work-index.ts';

/**
 * The partitions of a state, highest priority first: those of one priority, or of all priorities.
 * @param shards as many as the stage ever had
 */
export function workPartitions(state: WorkState, shards: number, priority?: Priority): string[] {
  return PRIORITIES.filter((candidate) => priority === undefined || candidate === priority).flatMap((candidate) =>
    allShards(state, candidate, shards),
  );
}

/**
 * Where the next page of each partition begins, in the order of the partitions: null at the start, `end` after the
 * last page.
 */
export type PartitionCursors = readonly (PageCursor | 'end' | null)[];

export interface PartitionPages {
  /** One page per partition, in the order of the partitions; empty for a partition that has ended. */
  readonly pages: readonly WorkPage[];
  /** Absent when every partition has ended. */
  readonly next?: PartitionCursors;
}

/** Reads the next page of each partition, side by side, so that no partition waits for the end of another. */
export async function readPartitions(
  index: DueIndex,
  partitions: readonly string[],
  query: Omit<PageQuery, 'after'>,
  cursors?: PartitionCursors,
): Promise<PartitionPages> {
  const pages = await Promise.all(
    partitions.map(async (partition, i): Promise<WorkPage> => {
      const after = cursors?.[i] ?? undefined;
      if (after === 'end') return { items: [] };
      return index.page(partition, { ...query, ...(after && { after }) });
    }),
  );
  const ended = pages.every((page) => page.next === undefined);
  return { pages, ...(!ended && { next: pages.map((page) => page.next ?? 'end') }) };
}
