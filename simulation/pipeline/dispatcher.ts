import type { SweepLanes } from '../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { isWaiting } from '../../src/core/pacing/budget-status.ts';
import { isWalked, type SweepCursor, type SweepDeps, sweep } from '../../src/core/sweep/sweep.ts';
import { isBetweenSweeps, type SweepRequest } from '../../src/core/sweep/sweep-run.ts';
import { START } from '../engine/start.ts';
import type { World } from './world.ts';

const MINUTE = 60_000;
/** The stage's defaults: hourly at minute 30, looks ahead at the other quarters, urgent rows every five minutes. */
const SWEEP_MINUTE = 30;
const QUARTER = 15;
const EXPRESS_MINUTES = 5;
const LANE_SECONDS = 300;
const LEAST_PER_LANE = 500;
/** The dispatcher's function (functions/dispatcher/handler.ts). */
const TIMEOUT_MS = 900_000;
const RESERVE_MS = 30_000;
/** Milliseconds per message: at 256 MB it sends about 2,200 a second. */
const MESSAGE_MS = 0.45;
const ATTRIBUTES_MS = 10;

/** The dispatcher's schedules. */
export class Dispatcher {
  readonly #world: World;
  #lastCompleted: string | undefined;
  #lastExpress: string | undefined;
  #lastAhead: string | undefined;
  #runs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    this.#everyMinute(START.getTime());
  }

  #everyMinute(at: number): void {
    this.#world.time.at(at, () => {
      const minute = new Date(at).getUTCMinutes();
      if (!this.#world.isBlackout()) {
        if (minute === SWEEP_MINUTE) void this.#run({});
        else if (minute % QUARTER === 0) void this.#run({ ahead: true });
        if (minute % EXPRESS_MINUTES === 0) void this.#run({ express_minutes: EXPRESS_MINUTES });
      }
      this.#everyMinute(at + MINUTE);
    });
  }

  async #run(request: SweepRequest): Promise<void> {
    const { time } = this.#world;
    const run_id = `sweep-${++this.#runs}`;
    const started = time.clock().toISOString();
    let from: SweepCursor | undefined;
    let recorded = isBetweenSweeps(request);
    try {
      do {
        const deadline = time.now + TIMEOUT_MS - RESERVE_MS;
        const { next, refused } = await sweep(
          request,
          { run_id, ...(from && { from }) },
          this.#deps(deadline, request),
        );
        if (!recorded && isWalked(next)) {
          this.#lastCompleted = from?.started ?? started;
          recorded = true;
        }
        if (request.express_minutes !== undefined && next === undefined && refused === 0) {
          this.#lastExpress = from?.started ?? started;
        }
        if (request.ahead && next === undefined && refused === 0) this.#lastAhead = from?.started ?? started;
        from = next;
      } while (from !== undefined);
    } catch (error) {
      if ((error as Error).name !== 'ThrottlingException') throw error;
      this.#world.count('sweeps failed');
    }
  }

  #deps(deadline: number, request: SweepRequest): SweepDeps {
    const world = this.#world;
    const { time } = world;
    const lanes: SweepLanes = {
      backlog: async (channel, lane) => {
        await time.pause(ATTRIBUTES_MS);
        const queue = world.queues[channel][lane];
        queue.requests += 1;
        const registers = world.budgets.channels.get(channel) ?? {};
        return queue.visible + (isWaiting(registers, lane, time.clock()) ? queue.delayed : 0);
      },
      send: async (messages) => {
        await time.pause(messages.length * MESSAGE_MS);
        if (world.isBlackout()) return [...messages];
        for (const { message, delay_seconds } of messages) world.send(message, delay_seconds);
        return [];
      },
    };
    const bounded = !isBetweenSweeps(request) && {
      short_lanes: { seconds: LANE_SECONDS, least: LEAST_PER_LANE, pause: time.pause },
    };
    return {
      index: world.index,
      lanes,
      sweeps: {
        lastCompleted: async () => this.#lastCompleted,
        lastExpress: async () => this.#lastExpress,
        lastAhead: async () => this.#lastAhead,
      },
      clock: time.clock,
      interval_ms: 60 * MINUTE,
      policy: DEFAULT_RETRY_POLICY,
      outOfTime: () => time.now >= deadline,
      ...bounded,
    };
  }
}

/** Messages in all lanes. */
export function queued(world: World): number {
  return world.allQueues().reduce((sum, { visible, delayed, inFlight }) => sum + visible + delayed + inFlight, 0);
}
