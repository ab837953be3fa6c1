import { groupsOf } from '../model/collections.ts';
import { isGone } from '../model/history-index.ts';
import type { ForeignRow } from '../model/notification.ts';
import { epochMs } from '../model/time.ts';
import type { PageCursor } from '../model/work-index.ts';
import { type IndexDeps, indexRow, planRow, type RowImage } from './index-row.ts';

/** A page of NotificationLog, in no order; it may be a second old. */
interface ScannedPage {
  /** Rows that may not have been taken in. */
  readonly rows: readonly ForeignRow[];
  /** All rows of the page. */
  readonly scanned: number;
  readonly read_units: number;
  /** Absent on the last page. */
  readonly next?: PageCursor;
}

/** NotificationLog, as the reconciler reads it. */
export interface RowScan {
  page(after?: PageCursor): Promise<ScannedPage>;
  /** The row as it is now; its `sequence` is that of the content that is stored for it. */
  read(log_id: string): Promise<RowImage | undefined>;
}

export interface ReconcileDeps extends IndexDeps {
  readonly scan: RowScan;
  /** Read units that the scan may use per second, on average. */
  readonly units_per_second: number;
  readonly pause: (ms: number) => Promise<void>;
  /** True when the time that is left does not suffice for another page. */
  readonly outOfTime: () => boolean;
  readonly onMissed?: (log_id: string, outcome: string, why?: string) => void;
  /** Storage failed for this row; the next scan meets it again. */
  readonly onFailed?: (log_id: string, error: unknown) => void;
  /** Called after each page. @param from all rows before it are settled; absent: none is */
  readonly onProgress?: (counts: ReconcileCounts, from: PageCursor | undefined) => Promise<void>;
}

export interface ReconcileCounts {
  readonly scanned: number;
  /** Rows that should have been taken in long ago: the sum of the next three; a dry run counts only this. */
  readonly missed: number;
  readonly taken_in: number;
  readonly set_aside: number;
  readonly failed: number;
}

export interface ReconcileResult {
  readonly counts: ReconcileCounts;
  /** Where to go on; absent when the scan has reached the end of the table. */
  readonly next?: PageCursor;
}

/** The indexer takes a row in within seconds. What it has not by then, it has missed. */
export const INDEXER_GRACE_MS = 20_000;
const WRITE_CONCURRENCY = 8;

/**
 * Walks the table and takes in each row that the stream's indexer never took in, by the indexer's own use case
 * (docs/decisions/delivery/taking-rows-in.md#0080). It reads slowly, and can go on later from where it stopped.
 */
export async function reconcile(
  { dry_run, after }: { readonly dry_run: boolean; readonly after?: PageCursor },
  deps: ReconcileDeps,
): Promise<ReconcileResult> {
  const { scan, clock, pause } = deps;
  const counts = { scanned: 0, missed: 0, taken_in: 0, set_aside: 0, failed: 0 };
  const now = () => clock().getTime();
  /** Rows that the indexer may still be about to take in, and where the page of each began. */
  let seen: { readonly log_id: string; readonly at: number; readonly from: PageCursor | undefined }[] = [];
  const settle = async (seenUntil: number) => {
    const ready = seen.filter(({ at }) => at <= seenUntil);
    for (const some of groupsOf(ready, WRITE_CONCURRENCY)) {
      await Promise.all(some.map(({ log_id }) => takeIn(log_id, dry_run, counts, deps)));
    }
    seen = seen.filter(({ at }) => at > seenUntil);
  };
  let next = after;
  do {
    const began = now();
    const from = next;
    const page = await scan.page(from);
    counts.scanned += page.scanned;
    const missed = page.rows.filter((row) => isMissed(row, deps));
    seen.push(...missed.map((row) => ({ log_id: String(row['log_id']), at: now(), from })));
    next = page.next;
    await settle(now() - INDEXER_GRACE_MS);
    const [oldest] = seen;
    await deps.onProgress?.({ ...counts }, oldest ? oldest.from : next);
    if (next) await pause(Math.max(0, began + (page.read_units / deps.units_per_second) * 1000 - now()));
  } while (next !== undefined && !deps.outOfTime());
  const newest = seen.at(-1);
  if (newest !== undefined) await pause(newest.at + INDEXER_GRACE_MS - now());
  await settle(Number.POSITIVE_INFINITY);
  return { counts, ...(next && { next }) };
}

function isMissed(row: ForeignRow, deps: IndexDeps): boolean {
  const now = deps.clock();
  return !isGone(row, now) && planRow(row, now, deps) !== 'ignore';
}

async function takeIn(
  log_id: string,
  dry_run: boolean,
  counts: { -readonly [K in keyof ReconcileCounts]: number },
  deps: ReconcileDeps,
): Promise<void> {
  try {
    const image = await deps.scan.read(log_id);
    if (image === undefined || !isMissed(image.row, deps)) return;
    if (dry_run) {
      counts.missed += 1;
      deps.onMissed?.(log_id, 'dry run');
      return;
    }
    const { outcome, why } = await indexRow(image, deps);
    // Meanwhile, the indexer or the row's writer was here; or the row has no room for anything.
    if (outcome === 'outdated' || outcome === 'ignored') return;
    counts.missed += 1;
    if (outcome === 'set_aside') counts.set_aside += 1;
    else counts.taken_in += 1;
    deps.onMissed?.(log_id, outcome, why);
  } catch (error) {
    counts.missed += 1;
    counts.failed += 1;
    deps.onFailed?.(log_id, error);
  }
}

/** How far the scheduled scan of the table has come; kept in PipelineState. */
export interface ScanProgress extends ReconcileCounts {
  /** ISO-8601 UTC. */
  readonly started_at: string;
  readonly updated_at: string;
  /** Where to go on; absent when the scan has reached its end. */
  readonly next?: PageCursor;
}

export interface ProgressStore {
  read(): Promise<ScanProgress | undefined>;
  write(progress: ScanProgress): Promise<void>;
}

export interface ScheduledScanDeps extends ReconcileDeps {
  readonly progress: ProgressStore;
}

/** Milliseconds between two writes of the progress. */
const KEEP_MS = 30_000;
/** A scan that has not moved within this time has crashed, and the next one goes on in its place. */
const DEAD_AFTER_MS = 10 * 60_000;

/**
 * One invocation of the scheduled scan: it goes on where the one before stopped or died, and starts anew after the end
 * of the table.
 * @param continued by the invocation before, so the scan is known to be alive
 * @returns the counts of this invocation, and how far the scan has come; undefined when another invocation is at it
 */
export async function scheduledScan(
  { continued }: { readonly continued: boolean },
  deps: ScheduledScanDeps,
): Promise<{ readonly counts: ReconcileCounts; readonly reached: ScanProgress } | undefined> {
  const { clock, progress } = deps;
  const stored = await progress.read();
  const begun = stored?.next === undefined ? undefined : stored;
  const moved = begun === undefined ? Number.NEGATIVE_INFINITY : epochMs(begun.updated_at);
  if (!continued && clock().getTime() - moved < DEAD_AFTER_MS) return undefined;
  const started_at = begun?.started_at ?? clock().toISOString();
  const after = begun?.next;
  const at = (counts: ReconcileCounts, next: PageCursor | undefined): ScanProgress => ({
    ...sum(counts, begun),
    started_at,
    updated_at: clock().toISOString(),
    ...(next && { next }),
  });
  let kept = clock().getTime();
  const onProgress: ReconcileDeps['onProgress'] = async (counts, from) => {
    if (from === undefined || clock().getTime() - kept < KEEP_MS) return;
    kept = clock().getTime();
    await progress.write(at(counts, from));
  };
  const { counts, next } = await reconcile({ dry_run: false, ...(after && { after }) }, { ...deps, onProgress });
  const reached = at(counts, next);
  await progress.write(reached);
  return { counts, reached };
}

function sum(counts: ReconcileCounts, before: ReconcileCounts | undefined): ReconcileCounts {
  return {
    scanned: counts.scanned + (before?.scanned ?? 0),
    missed: counts.missed + (before?.missed ?? 0),
    taken_in: counts.taken_in + (before?.taken_in ?? 0),
    set_aside: counts.set_aside + (before?.set_aside ?? 0),
    failed: counts.failed + (before?.failed ?? 0),
  };
}
