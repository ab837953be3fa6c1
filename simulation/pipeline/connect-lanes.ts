import { CHANNELS, type Channel, LANES, type Lane } from '../../src/core/model/channels.ts';
import type { QueueMessage } from '../../src/core/model/queue-message.ts';
import { createRandom } from '../engine/random.ts';
import { EventSource } from '../models/event-source.ts';
import { channelFunction } from './channel-worker.ts';
import { type World, windowOf } from './world.ts';

/** As lib/constructs/lanes/channel-lanes.ts sets them. */
const TIMEOUT_MS = 60_000;
const BATCH = 10;

/** Puts the function of each channel on its lanes. */
export function connectLanes(world: World): void {
  for (const channel of CHANNELS) for (const lane of LANES) world.sources.push(source(channel, lane, world));
}

function source(channel: Channel, lane: Lane, world: World): EventSource<QueueMessage> {
  const queue = world.queues[channel][lane];
  const { time, seed, scenario, concurrency } = world;
  return new EventSource(
    {
      time,
      draw: createRandom(seed, `${channel} ${lane}`),
      onDeath: (worker, death) => {
        world.count(`workers ${death}`);
        world.auditor.died(worker);
      },
      paused: () => world.isBlackout(),
    },
    queue,
    channelFunction(channel, queue, world),
    {
      concurrency: concurrency[channel][lane],
      batch: BATCH,
      window_ms: windowOf(channel, lane),
      timeout_ms: TIMEOUT_MS,
      faults: () => ({ deaths: scenario.deaths ?? 0 }),
    },
  );
}
