import { MAX_DELAY_MS } from '../model/queue-message.ts';
import { isoAfter } from '../model/time.ts';
import type { SweepRequest } from './sweep-request.ts';

/** The due times that a sweep takes, both ends included. */
export interface SweepWindow {
  readonly from?: string;
  readonly until: string;
}

/**
 * A plain run also queues ahead what becomes due within SQS's longest delay. A dry run and a limited run take only
 * what is due now, and so does a forced run: otherwise it would find what it queued itself again, as dead.
 */
export function windowOf(now: Date, request: SweepRequest): SweepWindow {
  const { dry_run, limit, force_retry, ahead, express_minutes } = request;
  if (ahead) return lookahead(now);
  if (express_minutes !== undefined) return sinceLastExpress(now, express_minutes);
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

/** A row enters the index a moment after its due time, so the window begins before the end of the last one. */
function sinceLastExpress(now: Date, minutes: number): SweepWindow {
  return { from: isoAfter(now, -minutes * 60_000 - INDEXED_WITHIN_MS), until: now.toISOString() };
}
