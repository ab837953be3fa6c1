import type { SweepEvent } from '../../../src/adapters/lambda/events.ts';
import type { SweepLanes } from '../../../src/core/model/queue-message.ts';
import { isWaiting } from '../../../src/core/pacing/budget-status.ts';
import { createRandom, START } from '../engine/virtual-time.ts';
import { dispatcher } from '../world/programs.ts';
import { sweepLog } from '../world/stores.ts';
import type { World } from './world.ts';

const MINUTE = 60_000;
/** The stage's defaults: hourly at minute 30, looks ahead at the other quarters, urgent rows every five minutes. */
const SWEEP_MINUTE = 30;
const QUARTER = 15;
const EXPRESS_MINUTES = 5;
/** Seconds of what a lane takes, and messages that it may hold whatever it takes (functions/dispatcher/handler.ts). */
const SHORT_LANES = { seconds: 300, least: 500 };
const TIMEOUT_MS = 900_000;
/** Milliseconds per message: at 256 MB it sends about 2,200 a second. */
const MESSAGE_MS = 0.45;
const ATTRIBUTES_MS = 10;

/** What the dispatcher is started in. */
export interface Swept
  extends Pick<World, 'time' | 'seed' | 'index' | 'env' | 'fault' | 'count' | 'isBlackout' | 'queues' | 'queue'> {
  readonly scenario: Pick<World['scenario'], 'late_ms'>;
  readonly budgets: Pick<World['budgets'], 'channels'>;
  /** Milliseconds of an invocation, unless it has Lambda's longest. */
  readonly timeout_ms?: number;
}

/** Starts the dispatcher as its schedules do. */
export function startDispatcher(world: Swept): void {
  const { time, timeout_ms = TIMEOUT_MS } = world;
  const log = sweepLog(new Map());
  const lanes = lanesOf(world);
  const { late_ms = 0 } = world.scenario;
  const draw = createRandom(world.seed, 'schedules');
  let runs = 0;
  const run = async (options: SweepEvent) => {
    let next: SweepEvent | undefined = { ...options, run_id: `sweep-${++runs}` };
    const continueWith = async (event: SweepEvent) => {
      world.count('sweeps continued');
      next = event;
    };
    while (next !== undefined) {
      const event: SweepEvent = next;
      next = undefined;
      const deadline = time.now + timeout_ms;
      const shards = await world.index.shards();
      const handler = dispatcher(world.env({ 'index.page': world.index.page, 'time.pause': world.time.pause }), {
        shards,
        short_lanes: SHORT_LANES,
        lanes,
        log,
        continueWith,
      });
      try {
        await handler(event, { getRemainingTimeInMillis: () => deadline - time.now });
      } catch (error) {
        world.fault(error);
        world.count('sweeps failed');
      }
    }
  };
  const everyMinute = (at: number) => {
    time.at(at, () => {
      const minute = new Date(at).getUTCMinutes();
      const begin = (event: SweepEvent) =>
        time.at(at + draw() * late_ms, () => {
          if (!world.isBlackout()) void run(event);
        });
      if (minute === SWEEP_MINUTE) begin({});
      else if (minute % QUARTER === 0) begin({ ahead: true });
      if (minute % EXPRESS_MINUTES === 0) begin({ express_minutes: EXPRESS_MINUTES });
      everyMinute(at + MINUTE);
    });
  };
  everyMinute(START.getTime());
}

function lanesOf(world: Swept): SweepLanes {
  const { time } = world;
  return {
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
      for (const { message, delay_seconds } of messages) world.queue(message, delay_seconds);
      return [];
    },
  };
}
