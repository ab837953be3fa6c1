import { CHANNELS, type Channel, LANES } from '../model/channels.ts';
import type { QueuedMessage, SweepLanes } from '../model/lanes.ts';
import { PRIORITIES, PRIORITY_POLICY, type Priority } from '../model/priorities.ts';
import { isQueued, MAX_DELAY_MS, messageFor, type RunOptions } from '../model/queue-message.ts';
import { type Clock, epochMs, isoAfter } from '../model/time.ts';
import { allShards, type DueIndex, type DueItem, type PageCursor, type WorkState } from '../model/work-index.ts';
import { type SweepResult, Tally } from './result.ts';

/** The job's parameters (batch-952-notification-retry.md §7; design §8), the same on the command line and in the event. */
export interface SweepRequest {
  readonly max_retry_count?: number;
  readonly channel?: Channel;
  readonly priority?: Priority;
  readonly tenant?: string;
  /** Dispatch at most this many. */
  readonly limit?: number;
  readonly dry_run?: boolean;
  readonly force_retry?: boolean;
  /** Only queue ahead what becomes due within 15 minutes: between two sweeps that are further apart (docs/decisions/0064). */
  readonly ahead?: boolean;
}

/** Where a sweep that ran out of time goes on, as the same sweep: what it sent itself must not look like a backlog. */
export interface SweepCursor {
  readonly queue: number;
  readonly after: readonly (PageCursor | 'end' | null)[];
  /** When the sweep began, ISO-8601 UTC. */
  readonly started: string;
  /** Lanes that had a backlog then, as `<channel>-<lane>`. */
  readonly busy: readonly string[];
  /** Messages sent so far. */
  readonly sent: number;
}

export interface SweepDeps {
  readonly index: DueIndex;
  readonly lanes: SweepLanes;
  readonly clock: Clock;
  /** Milliseconds between two scheduled sweeps. */
  readonly interval_ms: number;
  /** True when the time that is left does not suffice for another page. */
  readonly outOfTime?: () => boolean;
  readonly onDispatched?: (messages: readonly QueuedMessage[]) => void;
}

/** Items a page and partition: large enough for few requests, small enough to stop soon. */
const PAGE_SIZE = 250;

/**
 * One run of BATCH-952: finds what is due and hands it to the lanes, urgent first, oldest first (design §6.1). It writes
 * nothing, so a crash loses nothing, and what is sent twice is claimed once.
 * @returns the counts, and a cursor when time ran out before the end.
 */
export async function sweep(
  request: SweepRequest,
  run: { readonly run_id: string; readonly from?: SweepCursor },
  deps: SweepDeps,
): Promise<{ result: SweepResult; next?: SweepCursor }> {
  const { from } = run;
  const now = from ? new Date(from.started) : deps.clock();
  const tally = new Tally(run.run_id, request.dry_run ?? false);
  const busy = from ? new Set(from.busy) : await busyLanes(request, deps);
  const dispatcher = new Dispatcher(request, { run_id: run.run_id, now, busy, sent: from?.sent ?? 0 }, tally, deps);
  const queues = queuesOf(request);
  for (let queue = from?.queue ?? 0; queue < queues.length; queue++) {
    const after = queue === from?.queue ? from.after : undefined;
    const stopped = await walk(queues[queue] ?? [], after, windowOf(now, request), dispatcher, deps);
    if (stopped) {
      const { sent } = dispatcher;
      return {
        result: tally.result(),
        next: { queue, after: stopped, started: now.toISOString(), busy: [...busy], sent },
      };
    }
  }
  return { result: tally.result() };
}

/** A priority's partitions together, in the order to walk them. */
function queuesOf(request: SweepRequest): string[][] {
  const states: WorkState[] = request.force_retry ? ['due', 'dead'] : ['due'];
  return PRIORITIES.filter((priority) => request.priority === undefined || priority === request.priority).flatMap(
    (priority) => states.map((state) => allShards(state, priority)),
  );
}

/**
 * A plain run also queues what comes before SQS's longest delay is over. A dry run and a limited one are about what is
 * due now; a forced one must not meet again, as dead, what it queued itself.
 */
function windowOf(now: Date, { dry_run, limit, force_retry, ahead }: SweepRequest): Window {
  if (ahead) return lookahead(now);
  return { until: dry_run || limit !== undefined || force_retry ? now.toISOString() : isoAfter(now, MAX_DELAY_MS) };
}

/** When work is due, both included. */
interface Window {
  readonly from?: string;
  readonly until: string;
}

/** From the full minute, in which EventBridge fires some time: so that each lookahead begins where the one before it ended. */
function lookahead(now: Date): Window {
  const minute = Math.floor(now.getTime() / 60_000) * 60_000;
  return { from: new Date(minute + 1).toISOString(), until: new Date(minute + MAX_DELAY_MS).toISOString() };
}

/** Reads the partitions page by page, side by side, so that none of them waits for another's end. */
async function walk(
  partitions: readonly string[],
  from: SweepCursor['after'] | undefined,
  window: Window,
  dispatcher: Dispatcher,
  deps: SweepDeps,
): Promise<SweepCursor['after'] | undefined> {
  let after: SweepCursor['after'] = from ?? partitions.map(() => null);
  while (after.some((cursor) => cursor !== 'end')) {
    if (deps.outOfTime?.()) return after;
    const pages = await Promise.all(
      partitions.map(async (partition, shard) => {
        const cursor = after[shard] ?? undefined;
        if (cursor === 'end') return { items: [] };
        return deps.index.page(partition, { ...window, limit: PAGE_SIZE, ...(cursor && { after: cursor }) });
      }),
    );
    const items = pages.flatMap((page) => page.items);
    await dispatcher.dispatch(items.sort((a, b) => (a.work_at < b.work_at ? -1 : a.work_at > b.work_at ? 1 : 0)));
    after = pages.map((page) => ('next' in page && page.next ? page.next : 'end'));
  }
  return undefined;
}

/** Lanes that still hold messages; a dry run sends nothing, and one with overrides, or ahead, has new messages to send. */
async function busyLanes(request: SweepRequest, deps: SweepDeps): Promise<Set<string>> {
  if (request.dry_run || request.ahead || optionsOf(request)) return new Set();
  const lanes = CHANNELS.filter((channel) => request.channel === undefined || channel === request.channel).flatMap(
    (channel) => LANES.map((lane) => ({ channel, lane })),
  );
  const counts = await Promise.all(lanes.map(({ channel, lane }) => deps.lanes.backlog(channel, lane)));
  return new Set(lanes.filter((_, i) => (counts[i] ?? 0) > 0).map(({ channel, lane }) => `${channel}-${lane}`));
}

function optionsOf(request: SweepRequest): RunOptions | undefined {
  if (request.max_retry_count === undefined && !request.force_retry) return undefined;
  return {
    ...(request.max_retry_count !== undefined && { max_retry_count: request.max_retry_count }),
    ...(request.force_retry && { force: true }),
  };
}

interface Run {
  readonly run_id: string;
  /** When the sweep began. */
  readonly now: Date;
  readonly busy: ReadonlySet<string>;
  /** Messages that earlier parts of the sweep sent. */
  readonly sent: number;
}

/** Decides for each item whether it goes out, and sends what does. */
class Dispatcher {
  readonly #request: SweepRequest;
  readonly #run: Run;
  readonly #tally: Tally;
  readonly #deps: SweepDeps;
  /** Taken by this sweep, a dry run's included: what its limit is about. */
  #taken: number;

  constructor(request: SweepRequest, run: Run, tally: Tally, deps: SweepDeps) {
    this.#request = request;
    this.#run = run;
    this.#tally = tally;
    this.#deps = deps;
    this.#taken = run.sent;
  }

  get sent(): number {
    return this.#taken;
  }

  async dispatch(items: readonly DueItem[]): Promise<void> {
    const outgoing: QueuedMessage[] = [];
    const now = this.#run.now.getTime();
    const limit = this.#request.limit ?? Number.POSITIVE_INFINITY;
    const options = optionsOf(this.#request);
    for (const item of items) {
      if (!this.#matches(item)) continue;
      const wait = Math.max(0, epochMs(item.work_at) - now);
      if (wait > 0 && isQueued(item)) continue;
      if (wait === 0) this.#tally.sawDue(item);
      if (this.#stillQueued(item) || this.#taken >= limit) {
        if (wait === 0) this.#tally.skippedDue(1);
        continue;
      }
      this.#taken += 1;
      if (this.#request.dry_run) continue;
      outgoing.push({
        message: messageFor(item, item.work_at, this.#run.run_id, options),
        delay_seconds: Math.ceil(wait / 1000),
      });
    }
    if (outgoing.length === 0) return;
    const refused = new Set(await this.#deps.lanes.send(outgoing));
    const sent = outgoing.filter((message) => !refused.has(message));
    this.#tally.sent(sent);
    this.#tally.skippedDue([...refused].filter(({ delay_seconds }) => delay_seconds === 0).length);
    this.#deps.onDispatched?.(sent);
  }

  #matches(item: DueItem): boolean {
    const { channel, tenant } = this.#request;
    return (channel === undefined || item.channel === channel) && (tenant === undefined || item.tenant_id === tenant);
  }

  /** A lane with a backlog gets only what became due since the last sweep: the older is in it already. */
  #stillQueued(item: DueItem): boolean {
    const lane = `${item.channel}-${PRIORITY_POLICY[item.priority].lane}`;
    return this.#run.busy.has(lane) && epochMs(item.work_at) <= this.#run.now.getTime() - this.#deps.interval_ms;
  }
}
