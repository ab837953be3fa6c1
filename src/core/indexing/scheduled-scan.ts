import { epochMs } from '../model/time.ts';
import type { PageCursor } from '../model/work-index.ts';
import { type ReconcileCounts, type ReconcileDeps, reconcile } from './reconcile.ts';

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
/** A scan that has not moved for so long has died, and the next one goes on in its place. */
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
