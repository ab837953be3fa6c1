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
export function windowOf(now: Date, { dry_run, limit, force_retry, ahead }: SweepRequest): SweepWindow {
  if (ahead) return lookahead(now);
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
