import {
  isExpected,
  isManual,
  isQueued,
  messageFor,
  type QueuedMessage,
  type SweepLanes,
  withToken,
} from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { type Clock, epochMs } from '../model/time.ts';
import { type DueItem, fnv1a } from '../model/work-index.ts';
import { dispatchOf, laneOf } from './backlog.ts';
import type { LaneRooms } from './lane-room.ts';
import { isBetweenSweeps, type Preview, runOptionsOf, type SweepRequest, type Tally } from './sweep-run.ts';

export interface DispatcherDeps {
  readonly lanes: SweepLanes;
  readonly clock: Clock;
  /** Milliseconds between two scheduled sweeps. */
  readonly interval_ms: number;
  /** How long rows have: what stays due in a busy lane is sent again in time. */
  readonly policy: RetryPolicy;
  readonly onDispatched?: (messages: readonly QueuedMessage[]) => void;
}

export interface DispatcherRun {
  readonly run_id: string;
  /** When the sweep began. */
  readonly now: Date;
  /** Messages of each lane whose row the sweep has not met yet. */
  readonly unmet: Map<string, number>;
  /** Lanes that had messages when the run began. */
  readonly busy: ReadonlySet<string>;
  /** Absent: the lanes take everything. */
  readonly rooms?: LaneRooms | undefined;
  /** When the last completed sweep of everything began, ISO-8601 UTC; absent when none is known. */
  readonly last_sweep?: string;
  /** Messages that earlier parts of the sweep sent. */
  readonly sent: number;
  /** Of a dry run that names its targets. */
  readonly preview?: Preview | undefined;
}

/** By lane with room: messages of which nobody knows whose they are. */
interface Unknown {
  /** Sent before the sweep. */
  readonly before: Map<string, number>;
  /** Sent by the sweep before it continued. */
  readonly own: Map<string, number>;
}

/** Decides for each item whether its message is sent, and sends the messages. */
export class Dispatcher {
  readonly #request: SweepRequest;
  readonly #run: DispatcherRun;
  readonly #tally: Tally;
  readonly #deps: DispatcherDeps;
  /** Items that the sweep's limit counts; a dry run takes items, too. */
  #taken: number;
  /** Items that are due later than this are left out when a message for them is queued; epoch milliseconds. */
  readonly #queuedAfter: number;
  /** Rows of limited lanes with a message. While a worker has them they stay in the index, after a crash too. */
  #sentRows = new Set<string>();
  /** Those of them that a walk has met. */
  #metRows = new Set<string>();
  /** Lanes in which a walk left rows out, not knowing whose the messages of the lane are. */
  #unsure = new Set<string>();

  constructor(request: SweepRequest, run: DispatcherRun, tally: Tally, deps: DispatcherDeps) {
    this.#request = request;
    this.#run = run;
    this.#tally = tally;
    this.#deps = deps;
    this.#taken = run.sent;
    // A sweep repairs what was queued and never sent; a run between two sweeps does not.
    this.#queuedAfter = isBetweenSweeps(request) ? Number.NEGATIVE_INFINITY : run.now.getTime();
  }

  get sent(): number {
    return this.#taken;
  }

  /** @returns the lanes that had no room for some of them */
  async dispatch(items: readonly DueItem[]): Promise<ReadonlySet<string>> {
    const outgoing: QueuedMessage[] = [];
    const targets: DueItem[] = [];
    const full = new Set<string>();
    const { result } = this.#tally;
    const options = runOptionsOf(this.#request);
    const requested_by = isManual(this.#run.run_id) ? 'job' : undefined;
    // A sweep that continues may reach an item long after it began, when its time has come.
    const now = this.#deps.clock().getTime();
    for (const item of items) {
      const work_at = epochMs(item.work_at);
      const wait = Math.max(0, work_at - now);
      if (!this.#matches(item) || (work_at > this.#queuedAfter && isQueued(item))) continue;
      if (wait === 0) {
        targets.push(item);
        result.due += 1;
        result.by_channel[item.channel] += 1;
        result.by_priority[item.priority] += 1;
      }
      const { rooms } = this.#run;
      // A look at the lanes was ahead of the walk.
      if (rooms && this.#sentRows.has(item.log_id)) continue;
      const dispatch = this.#dispatchOf(item);
      if (dispatch === 'skip') {
        if (wait === 0) result.skipped += 1;
        continue;
      }
      if (wait === 0 && rooms?.take(laneOf(item), dispatch === 'send_again') === false) {
        rooms.hold(laneOf(item));
        full.add(laneOf(item));
        continue;
      }
      this.#taken += 1;
      if (this.#request.dry_run) continue;
      const message = messageFor(item, item.work_at, this.#runOf(item), { options, requested_by });
      outgoing.push({ message, delay_seconds: Math.ceil(wait / 1000) });
    }
    if (outgoing.length > 0) await this.#send(outgoing);
    if ((await this.#run.preview?.add(targets)) === false) result.truncated = true;
    return full;
  }

  /** The run may have sent a message for the item before. */
  #copy = (): string => withToken(this.#run.run_id, this.#deps.clock().getTime().toString(36));

  /**
   * Sends what did not fit before, each row once. Nobody knows whose the messages are that were sent before the sweep, or
   * before it continued: they are of the first rows that it meets, so as many are left out.
   * @param own those of earlier parts of this sweep
   */
  async refill(items: readonly DueItem[], { before, own }: Unknown): Promise<void> {
    const { rooms, now, last_sweep = '' } = this.#run;
    const outgoing: QueuedMessage[] = [];
    const copy = this.#copy();
    const takeFrom = (counts: Map<string, number>, lane: string) => {
      const messages = counts.get(lane) ?? 0;
      if (messages > 0) counts.set(lane, messages - 1);
      return messages > 0;
    };
    for (const item of items) {
      const lane = laneOf(item);
      const wasSent = this.#sentRows.has(item.log_id);
      if (wasSent) this.#metRows.add(item.log_id);
      if (!own.has(lane) || epochMs(item.work_at) > now.getTime()) continue;
      // A look ahead, or its writer, has sent the message of an expected or queued row since the last sweep
      // (docs/decisions/delivery/sweep-and-backlog.md).
      const isSent = item.work_at <= last_sweep || isExpected(item) || isQueued(item);
      const isOfLane = !wasSent && ((isSent && takeFrom(before, lane)) || takeFrom(own, lane));
      if (isOfLane) this.#unsure.add(lane);
      if (isOfLane || wasSent || !rooms?.take(lane)) continue;
      rooms.release(lane);
      outgoing.push({ message: messageFor(item, item.work_at, copy), delay_seconds: 0 });
    }
    if (outgoing.length > 0) await this.#send(outgoing);
  }

  /** @returns the lanes in which the walk, which met all rows, left some out and cannot tell whether they were sent */
  endWalk(): ReadonlySet<string> {
    const unsure = this.#unsure;
    this.#sentRows = this.#metRows;
    this.#metRows = new Set();
    this.#unsure = new Set();
    return unsure;
  }

  /**
   * A forced run may meet a row as due, and again as dead where it died meanwhile by a clock that is behind. The message
   * for the due row must not pass for the redrive of the dead one.
   */
  #runOf({ work_at }: DueItem): string {
    const { run_id } = this.#run;
    return this.#request.force_retry ? withToken(run_id, fnv1a(`${run_id} ${work_at}`).toString(36)) : run_id;
  }

  #matches(item: DueItem): boolean {
    const { channel, tenant } = this.#request;
    return (channel === undefined || item.channel === channel) && (tenant === undefined || item.tenant_id === tenant);
  }

  #dispatchOf(item: DueItem): ReturnType<typeof dispatchOf> {
    const limit = this.#request.limit ?? Number.POSITIVE_INFINITY;
    const { unmet, busy, now, last_sweep } = this.#run;
    // Its message waits in the lane, or was lost: the next sweep sends it again in that case.
    if (isBetweenSweeps(this.#request) && busy.has(laneOf(item)) && isExpected(item)) return 'skip';
    if (this.#taken >= limit) return 'skip';
    const lastSweep = last_sweep === undefined ? Number.NEGATIVE_INFINITY : epochMs(last_sweep);
    const { interval_ms: interval, policy } = this.#deps;
    return dispatchOf(item, { unmet, now: now.getTime(), lastSweep, interval, policy });
  }

  async #send(outgoing: readonly QueuedMessage[]): Promise<void> {
    const refused = new Set(await this.#deps.lanes.send(inTurns(outgoing)));
    const sent = outgoing.filter((message) => !refused.has(message));
    if (this.#run.rooms) {
      for (const { message } of sent) {
        for (const rows of [this.#sentRows, this.#metRows]) rows.add(message.log_id);
      }
    }
    const due = ({ delay_seconds }: QueuedMessage) => delay_seconds === 0;
    const { result } = this.#tally;
    result.dispatched += sent.filter(due).length;
    result.ahead += sent.filter((message) => !due(message)).length;
    result.skipped += [...refused].filter(due).length;
    this.#tally.refused += refused.size;
    this.#deps.onDispatched?.(sent);
  }
}

/**
 * The messages of a page with the tenants taking turns in each channel, each tenant's own oldest first. In the order of
 * the index, twelve urgent rows waited 12 s behind 300 of another tenant; SQS's fair queues see a flood only once 30 of
 * its messages are in flight.
 */
function inTurns(messages: readonly QueuedMessage[]): QueuedMessage[] {
  const turns = new Map<string, number>();
  const turnOf = ({ message: { channel, tenant_id } }: QueuedMessage) => {
    const key = `${channel} ${tenant_id}`;
    const turn = turns.get(key) ?? 0;
    turns.set(key, turn + 1);
    return turn;
  };
  return messages
    .map((message) => ({ message, turn: turnOf(message) }))
    .sort((a, b) => a.turn - b.turn)
    .map(({ message }) => message);
}
