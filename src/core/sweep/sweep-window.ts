import { MAX_DELAY_MS } from '../model/queue-message.ts';
import { epochMs, isoAfter } from '../model/time.ts';
import type { SweepRequest } from './sweep-run.ts';

/** The due times that a sweep takes, both ends included. */
export interface SweepWindow {
  readonly from?: string;
  readonly until: string;
}

/** What a run between two sweeps needs to know of those before it. */
export interface RunHistory {
  /** When the last run of its kind began that sent all it found, ISO-8601 UTC; undefined when none is known. */
  readonly last?: string | undefined;
  /** When the last completed sweep began; for a look ahead, as a sweep looks ahead, too. */
  readonly last_sweep?: string | undefined;
  /** Milliseconds between two scheduled sweeps. */
  readonly interval_ms: number;
}

/**
 * A plain run also queues ahead what becomes due within SQS's longest delay. A dry run and a limited run take only
 * what is due now, and so does a forced run: otherwise it would find what it queued itself again, as dead.
 */
export function windowOf(now: Date, request: SweepRequest, history: RunHistory): SweepWindow {
  const { dry_run, limit, force_retry, ahead, express_minutes } = request;
  if (ahead) return lookahead(now, history);
  if (express_minutes !== undefined) return sinceLastExpress(now, express_minutes, history);
  return { until: dry_run || limit !== undefined || force_retry ? now.toISOString() : isoAfter(now, MAX_DELAY_MS) };
}

/**
 * From the end of the last run that looked ahead: one that runs minutes late would leave a gap behind it, and a row with a
 * last attempt in the gap would end EXPIRED without a send. What is older than an interval is the sweeps'. EventBridge
 * fires within a minute, so each window is counted from the full minute.
 */
function lookahead(now: Date, { last, last_sweep, interval_ms }: RunHistory): SweepWindow {
  const minute = minuteOf(now.getTime());
  const ends = [
    ...(last === undefined ? [] : [minuteOf(epochMs(last)) + MAX_DELAY_MS]),
    ...(last_sweep === undefined ? [] : [epochMs(last_sweep) + MAX_DELAY_MS]),
  ];
  const since = ends.length === 0 ? minute : Math.min(minute, Math.max(...ends, now.getTime() - interval_ms));
  return { from: new Date(since + 1).toISOString(), until: new Date(minute + MAX_DELAY_MS).toISOString() };
}

const minuteOf = (at: number) => Math.floor(at / 60_000) * 60_000;

/** Milliseconds from the time that a row is due to its entry in the work index, at most: the indexer's own time. */
const INDEXED_WITHIN_MS = 60_000;

/**
 * Since the last run that sent all it found, also if runs failed since then; what became due before the last interval is
 * the sweeps' (docs/decisions/delivery/sweep-and-backlog.md#0192). A row enters the index a moment after its due time,
 * so the window begins before the end of the last one.
 */
function sinceLastExpress(now: Date, minutes: number, { last, interval_ms }: RunHistory): SweepWindow {
  const before = (ms: number) => isoAfter(now, -ms - INDEXED_WITHIN_MS);
  const [oldest, latest] = [before(interval_ms), before(minutes * 60_000)];
  const since = last === undefined ? oldest : isoAfter(new Date(last), -INDEXED_WITHIN_MS);
  return { from: since < oldest ? oldest : since > latest ? latest : since, until: now.toISOString() };
}
