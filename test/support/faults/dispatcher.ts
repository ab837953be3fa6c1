import type { MemoryQueue } from '../../../src/adapters/memory/memory-queue.ts';
import type { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import type { Channel, Lane } from '../../../src/core/model/channels.ts';
import type { QueuedMessage, SweepLanes } from '../../../src/core/model/lanes.ts';
import { DEFAULT_RETRY_POLICY, PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import { isWalked, type SweepCursor, type SweepDeps, sweep } from '../../../src/core/sweep/sweep.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-request.ts';
import { through, type Worker } from './worker.ts';

export const SWEEP_INTERVAL_MS = 60 * 60_000;
/** The functions that one sweep may take. The rest is left to the next sweep, as when a continuation gets lost. */
const MOST_PARTS = 8;
/** Messages of others that a lane's workers take while the sweep waits for room. */
const TAKEN_PER_PAUSE = 3;

export interface LaneLoad {
  /** Messages of other notifications that each lane holds when a sweep begins. */
  readonly others: number;
  /** Whether scheduled sweeps keep the lanes short, as the deployed dispatcher does. */
  readonly short: boolean;
}

/** What may go wrong in a sweep, beside the faults of its calls. */
export interface SweepFaults {
  /** Numbers of the messages that SQS refuses, while it takes others of their batch. */
  readonly refused?: ReadonlySet<number>;
  /** Looks at the clock until a function's time is over, and the sweep continues in another one. */
  readonly looks?: number;
}

interface Surroundings {
  readonly tables: MemoryTables;
  readonly queue: MemoryQueue;
  readonly clock: Clock;
  readonly advance: (ms: number) => void;
  /** The lane's workers take what is visible. */
  readonly work: () => Promise<unknown>;
}

/** The dispatcher's functions and what they remember (functions/dispatcher). */
export class Dispatcher {
  load: LaneLoad = { others: 0, short: false };
  readonly #world: Surroundings;
  #lastSweep: string | undefined;
  #lastExpress: string | undefined;
  #lastAhead: string | undefined;
  #runs = 0;

  constructor(world: Surroundings) {
    this.#world = world;
  }

  /** One sweep, in as many parts as it takes. */
  async sweep(worker: Worker, request: SweepRequest, faults: SweepFaults = {}): Promise<void> {
    const scheduled = Object.keys(request).length === 0;
    const run_id = `${request.force_retry ? 'manual' : 'sweep'}-${++this.#runs}`;
    const deps = this.#deps(worker, scheduled && this.load.short, faults);
    let started = this.#world.clock().toISOString();
    let from: SweepCursor | undefined;
    for (let part = 0; part < MOST_PARTS; part++) {
      let looks = 0;
      const outOfTime = () => ++looks > (faults.looks ?? Number.POSITIVE_INFINITY);
      const { next, refused } = await sweep(request, { run_id, ...(from && { from }) }, { ...deps, outOfTime });
      if (scheduled && isWalked(next)) this.#lastSweep = started;
      if (request.express_minutes !== undefined && next === undefined && refused === 0) this.#lastExpress = started;
      if (request.ahead && next === undefined && refused === 0) this.#lastAhead = started;
      if (next === undefined) return;
      // The cursor is in the event of the next function.
      from = JSON.parse(JSON.stringify(next)) as SweepCursor;
      started = from.started;
    }
  }

  /** What a sweep leaves behind when nothing is due, without its reads. */
  findNothing(): void {
    this.#lastSweep = this.#world.clock().toISOString();
  }

  #deps(worker: Worker, short: boolean, { refused }: SweepFaults): SweepDeps {
    const { tables, clock, advance, work } = this.#world;
    let others = this.load.others;
    let offered = 0;
    const lanes: SweepLanes = {
      backlog: async (channel, lane) => others + this.#messages(channel, lane, short),
      send: async (messages) => {
        const notTaken = messages.filter(() => refused?.has(offered++));
        for (const queued of messages) if (!notTaken.includes(queued)) this.#put(queued);
        return notTaken;
      },
    };
    let pauses = 0;
    const pause = async (ms: number) => {
      advance(ms);
      others = Math.max(0, others - TAKEN_PER_PAUSE);
      if (++pauses % 2 === 0) await work();
    };
    return {
      index: through(worker, 'index', tables.dueIndex),
      lanes: through(worker, 'lanes', lanes),
      malformed: through(worker, 'malformed', tables.malformed),
      sweeps: {
        lastCompleted: async () => this.#lastSweep,
        lastExpress: async () => this.#lastExpress,
        lastAhead: async () => this.#lastAhead,
      },
      clock,
      interval_ms: SWEEP_INTERVAL_MS,
      policy: DEFAULT_RETRY_POLICY,
      // So few that the lanes of a small world become full.
      ...(short && { short_lanes: { seconds: 10, least: 2, pause } }),
    };
  }

  #put({ message, delay_seconds }: QueuedMessage): void {
    this.#world.queue.send(message, delay_seconds);
  }

  /** Without short lanes, what is delayed and what is in flight counts, too. */
  #messages(channel: Channel, lane: Lane, short: boolean): number {
    const { queue, clock } = this.#world;
    if (!short) return queue.messages.length;
    const now = clock().getTime();
    return queue.messages.filter(
      ({ message, visible_at }) =>
        visible_at <= now && message.channel === channel && PRIORITY_POLICY[message.priority].lane === lane,
    ).length;
  }
}
