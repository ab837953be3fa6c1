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
  readonly onSetAside?: (entry: MalformedEntry, why: string) => void;
  /** The row could not be set aside; the next sweep meets it again. */
  readonly onSetAsideFailed?: (entry: MalformedEntry, error: unknown) => void;
}

/** Sets each entry aside on its own: no row, and no failure of storage, stops the sweep of the others. */
export async function setEntriesAside(entries: readonly MalformedEntry[], deps: MalformedDeps): Promise<void> {
  const { malformed } = deps;
  if (malformed === undefined) return;
  for (const entry of entries) {
    try {
      const why = await malformed.setAside(entry);
      if (why !== undefined) deps.onSetAside?.(entry, why);
    } catch (error) {
      deps.onSetAsideFailed?.(entry, error);
    }
  }
}
