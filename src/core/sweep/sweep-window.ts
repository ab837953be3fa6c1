import { MAX_DELAY_MS } from '../model/queue-message.ts';
import { isoAfter } from '../model/time.ts';
import type { SweepRequest } from './sweep-request.ts';

/** The due times that a sweep takes, both ends included. */
export interface SweepWindow {
  readonly from?: string;
  readonly until: string;
}

/** What an express run needs to know of the runs before it. */
export interface ExpressHistory {
  /** When the last one began that sent all it found, ISO-8601 UTC; undefined when none is known. */
  readonly last?: string | undefined;
  /** Milliseconds between two scheduled sweeps. */
  readonly interval_ms: number;
}

/**
 * A plain run also queues ahead what becomes due within SQS's longest delay. A dry run and a limited run take only
 * what is due now, and so does a forced run: otherwise it would find what it queued itself again, as dead.
 */
export function windowOf(now: Date, request: SweepRequest, express: ExpressHistory): SweepWindow {
  const { dry_run, limit, force_retry, ahead, express_minutes } = request;
  if (ahead) return lookahead(now);
  if (express_minutes !== undefined) return sinceLastExpress(now, express_minutes, express);
  return { until: dry_run || limit !== undefined || force_retry ? now.toISOString() : isoAfter(now, MAX_DELAY_MS) };
}

/**
 * EventBridge fires within a minute; counting from the full minute lets each lookahead begin where the last one
 * ended.
 */
function lookahead(now: Date): SweepWindow {
  const minute = Math.floor(now.getTime() / 60_000) * 60_000;
  return { from: new Date(minute + 1).toISOString(), until: new Date(minute + MAX_DELAY_MS).toISOString() };
}

/** Milliseconds from the time that a row is due to its entry in the work index, at most: the indexer's own time. */
const INDEXED_WITHIN_MS = 60_000;

/**
 * Since the last run that sent all it found, also if runs failed since then; what became due before the last interval is
 * the sweeps' (docs/decisions/delivery/sweep-and-backlog.md#0192). A row enters the index a moment after its due time,
 * so the window begins before the end of the last one.
 */
function sinceLastExpress(now: Date, minutes: number, { last, interval_ms }: ExpressHistory): SweepWindow {
  const before = (ms: number) => isoAfter(now, -ms - INDEXED_WITHIN_MS);
  const [oldest, latest] = [before(interval_ms), before(minutes * 60_000)];
  const since = last === undefined ? oldest : isoAfter(new Date(last), -INDEXED_WITHIN_MS);
  return { from: since < oldest ? oldest : since > latest ? latest : since, until: now.toISOString() };
}
