import type { Channel } from '../model/channels.ts';
import {
  type DueIndex,
  type DueItem,
  type MalformedEntry,
  type PartitionCursors,
  readPartitions,
} from '../model/work-index.ts';
import type { SweepWindow } from './sweep-run.ts';

/** Items per page and partition: large enough to need few requests, small enough to stop soon. */
const PAGE_SIZE = 250;
/** Entries of an answer of DynamoDB, which has a megabyte. */
const MOST_ENTRIES = 8_000;

export interface Walk {
  readonly partitions: readonly string[];
  readonly after?: PartitionCursors | null | undefined;
  readonly window: SweepWindow;
  /** Asked before each round; absent: rows of all channels. */
  readonly channels?: () => readonly Channel[];
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

/** Walks the partitions round by round, a page of each. @returns where it stopped before the end */
export async function walk(
  { partitions, after, window, channels, writes, each, between }: Walk,
  deps: WalkDeps,
): Promise<PartitionCursors | undefined> {
  let cursors: PartitionCursors | undefined = after ?? partitions.map(() => null);
  let limit = PAGE_SIZE;
  while (cursors !== undefined) {
    if ((await between?.()) || deps.outOfTime?.()) return cursors;
    const query = { ...window, limit, ...(channels && { channels: channels() }) };
    const { pages, next } = await readPartitions(deps.index, partitions, query, cursors);
    const items = pages.flatMap((page) => page.items);
    // Pages of other channels are empty: larger ones take less time.
    limit = items.length === 0 ? Math.min(limit * 4, MOST_ENTRIES) : PAGE_SIZE;
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

/** NotificationLog, as the sweep needs it for rows that it cannot route. */
export interface MalformedEntries {
  /**
   * Takes the row out of the work index, FAILED with FORMAT_ERROR unless it is delivered.
   * @returns the reason; undefined when the row has changed since its entry was read
   */
  setAside(entry: MalformedEntry): Promise<string | undefined>;
}

export interface MalformedDeps {
  /** Without it, as for a run with an operator's rights, malformed entries are left to the next scheduled sweep. */
  readonly malformed?: MalformedEntries;
  /** True when the time that is left does not suffice for another page. */
  readonly outOfTime?: () => boolean;
  readonly onSetAside?: (entry: MalformedEntry, why: string) => void;
  /** The row could not be set aside; the next sweep meets it again. */
  readonly onSetAsideFailed?: (entry: MalformedEntry, error: unknown) => void;
}

const WRITE_CONCURRENCY = 8;
/** Most entries per round of the sweep: a flood of them takes few seconds from the others. The next sweep meets the rest. */
const MOST_PER_ROUND = 200;

/** Sets each entry aside on its own: no row, no failure of storage and no flood stops the sweep of the others. */
export async function setEntriesAside(entries: readonly MalformedEntry[], deps: MalformedDeps): Promise<void> {
  const { malformed, outOfTime } = deps;
  if (malformed === undefined) return;
  const one = async (entry: MalformedEntry) => {
    try {
      const why = await malformed.setAside(entry);
      if (why !== undefined) deps.onSetAside?.(entry, why);
    } catch (error) {
      deps.onSetAsideFailed?.(entry, error);
    }
  };
  const some = entries.slice(0, MOST_PER_ROUND);
  for (let i = 0; i < some.length && !outOfTime?.(); i += WRITE_CONCURRENCY) {
    await Promise.all(some.slice(i, i + WRITE_CONCURRENCY).map(one));
  }
}
