import { type DueIndex, type DueItem, type PartitionCursors, readPartitions } from '../model/work-index.ts';
import { type MalformedDeps, setEntriesAside } from './malformed-entries.ts';
import type { SweepWindow } from './sweep-run.ts';

/** Items per page and partition: large enough to need few requests, small enough to stop soon. */
const PAGE_SIZE = 250;

export interface Walk {
  readonly partitions: readonly string[];
  readonly after?: PartitionCursors | null | undefined;
  readonly window: SweepWindow;
  /** False for a dry run. */
  readonly writes: boolean;
  /** Takes the items of a round, oldest first. @param round where it began @returns true when it needs no more */
  readonly each: (items: readonly DueItem[], round: PartitionCursors) => Promise<boolean>;
  /** Runs before each round. @returns true when the walk goes on another time */
  readonly between?: () => Promise<boolean>;
}

export interface WalkDeps extends MalformedDeps {
  readonly index: DueIndex;
}

/**
 * Walks the partitions round by round, a page of each.
 * @returns where it stopped before the end: it needed no more, or time ran out
 */
export async function walk(
  { partitions, after, window, writes, each, between }: Walk,
  deps: WalkDeps,
): Promise<PartitionCursors | undefined> {
  let cursors: PartitionCursors | undefined = after ?? partitions.map(() => null);
  while (cursors !== undefined) {
    if ((await between?.()) || deps.outOfTime?.()) return cursors;
    const { pages, next } = await readPartitions(deps.index, partitions, { ...window, limit: PAGE_SIZE }, cursors);
    const items = pages.flatMap((page) => page.items);
    const malformed = pages.flatMap((page) => page.malformed ?? []);
    const enough = await each(
      items.sort((a, b) => (a.work_at < b.work_at ? -1 : a.work_at > b.work_at ? 1 : 0)),
      cursors,
    );
    // After the good ones: whoever floods the index must not delay them.
    if (writes) await setEntriesAside(malformed, deps);
    if (enough) return cursors;
    cursors = next;
  }
  return undefined;
}
