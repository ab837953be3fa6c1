import { CHANNELS, type Channel, PRIORITIES, type Priority } from '../model/channels.ts';
import { MAX_DELAY_MS, messageFor, type QueueMessage, type RunOptions } from '../model/queue-message.ts';
import { epochMs, isoAfter } from '../model/time.ts';
import type { DueItem } from '../model/work-index.ts';

/** The job's parameters (batch-952-notification-retry.md §7), as on the command line and in the event. */
export interface SweepRequest {
  readonly max_retry_count?: number;
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly tenant?: string;
  readonly limit?: number;
  readonly dry_run?: boolean;
  /** With `dry_run`: names the targets, whose rows it reads. */
  readonly list?: boolean;
  readonly force_retry?: boolean;
  /** A lookahead between two distant sweeps only queues ahead (docs/decisions/delivery/sweep-and-backlog.md#0064). */
  readonly ahead?: boolean;
  /**
   * A run between two sweeps, at this interval in minutes: it only queues what is urgent or important and became due since
   * the run before (docs/decisions/delivery/sweep-and-backlog.md#0084).
   */
  readonly express_minutes?: number;
}

/** A run between two sweeps, which is none itself: it leaves no record, and repairs nothing that a sweep repairs. */
export function isBetweenSweeps({ ahead, express_minutes }: SweepRequest): boolean {
  return ahead === true || express_minutes !== undefined;
}

/** What the run overrides in its messages; undefined when it overrides nothing. */
export function runOptionsOf({ max_retry_count, force_retry }: SweepRequest): RunOptions | undefined {
  if (max_retry_count === undefined && !force_retry) return undefined;
  return { ...(max_retry_count !== undefined && { max_retry_count }), ...(force_retry && { force: true }) };
}

/** The job's answer (a contract: fields are added, never renamed). */
export interface SweepResult {
  readonly run_id: string;
  readonly dry_run: boolean;
  /** Notifications that matched and are due now. */
  readonly due: number;
  readonly dispatched: number;
  /** Due, but not dispatched: beyond the limit, still queued from an earlier sweep, or refused by the queue. */
  readonly skipped: number;
  readonly by_channel: Record<Channel, number>;
  readonly by_priority: Record<Priority, number>;
  /** Queued with a delay, as they become due within 15 minutes; not part of `due`. */
  readonly ahead: number;
  /** Of a dry run that lists: 1,000, or as many as its limit, 10,000 at most. */
  readonly targets?: readonly SweepTarget[];
  /** More matched than are listed. */
  readonly truncated?: true;
}

/** What a worker would do that receives a message now, and why not send it. */
interface Foreseen {
  readonly would: 'send' | 'give_up' | 'skip';
  readonly why?: string;
}

export interface SweepTarget extends Foreseen {
  readonly log_id: string;
  readonly channel: Channel;
  readonly priority: Priority;
}

export type Foresight = (message: QueueMessage) => Promise<Foreseen>;

export interface Tally {
  readonly result: { -readonly [K in keyof SweepResult]: SweepResult[K] };
  refused: number;
}

export function newTally(run_id: string, dry_run: boolean): Tally {
  const counts = { due: 0, dispatched: 0, skipped: 0, by_channel: zeros(CHANNELS), by_priority: zeros(PRIORITIES) };
  return { result: { run_id, dry_run, ...counts, ahead: 0 }, refused: 0 };
}

function zeros<K extends string>(keys: readonly K[]): Record<K, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;
}

/**
 * A sweep, kept for a month as an item of PipelineState with kind `sweep`. All invocations of a sweep make one item.
 */
export interface SweepRecord {
  readonly run_id: string;
  /** ISO-8601 UTC. */
  readonly started_at: string;
  /** Milliseconds of work in all invocations together. */
  readonly duration_ms: number;
  readonly due: number;
  readonly dispatched: number;
  readonly skipped: number;
  /** Whether the sweep has walked the work index to the end; while false, it may still be under way. */
  readonly complete: boolean;
  /** Whether the sweep took everything that was due: one by the job's options may be limited to a part. */
  readonly everything?: boolean;
}

/** What a sweep needs to know of the sweeps before it. */
export interface SweepHistory {
  /** When the last sweep began that walked the whole work index to its end, ISO-8601 UTC; undefined when none is known. */
  lastCompleted(): Promise<string | undefined>;
  /** When the last express run began that sent all it found; undefined when none is known. */
  lastExpress(): Promise<string | undefined>;
  /** The same of the looks ahead. */
  lastAhead(): Promise<string | undefined>;
}

export interface SweepLog extends SweepHistory {
  /** Adds the counts of one invocation to its sweep. */
  record(part: SweepRecord): Promise<void>;
  recordExpress(started_at: string): Promise<void>;
  recordAhead(started_at: string): Promise<void>;
}

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

/** Targets that a dry run lists unless the run is limited, and at most. */
const LISTED = 1_000;
const MOST_LISTED = 10_000;

/** What a dry run with `list` says of each notification that it would dispatch, in the order of the run. */
export class Preview {
  readonly targets: SweepTarget[] = [];
  readonly #room: number;
  readonly #request: SweepRequest;
  readonly #foresee: Foresight;

  constructor(request: SweepRequest, foresee: Foresight) {
    this.#request = request;
    this.#room = Math.min(request.limit ?? LISTED, MOST_LISTED);
    this.#foresee = foresee;
  }

  /** @returns false when there is no room for all of them */
  async add(items: readonly DueItem[]): Promise<boolean> {
    const listed = items.slice(0, this.#room - this.targets.length);
    this.targets.push(...(await Promise.all(listed.map((item) => this.#targetOf(item)))));
    return listed.length === items.length;
  }

  async #targetOf(item: DueItem): Promise<SweepTarget> {
    const { log_id, channel, priority } = item;
    const options = runOptionsOf(this.#request);
    const foreseen = await this.#foresee(messageFor(item, item.work_at, 'dry-run', { options }));
    return { log_id, channel, priority, ...foreseen };
  }
}
