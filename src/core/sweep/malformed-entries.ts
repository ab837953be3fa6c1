import type { MalformedEntry } from '../model/work-index.ts';

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
