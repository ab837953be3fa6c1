import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import type { Channel } from '../../src/core/model/channels.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { SAMPLE_INTEGRATIONS } from '../../src/local/runtime/secrets-file.ts';
import type { BenchContext, Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { PLAIN_TABLES } from '../plain/plain-tables.ts';
import type { SeriesOutcome } from '../processes/function-process.ts';
import { bodyOf } from '../setup/body.ts';
import { bundle } from '../setup/bundle.ts';
import { eventsFor } from '../setup/lambda-poller.ts';
import { standardLane } from '../setup/lane-queue.ts';
import { failedRow, putAll, type RowShape, seedDue } from '../setup/rows.ts';
import { tableNames } from '../setup/table-names.ts';
import { startWorld, type World } from '../setup/world.ts';

const MEGABYTE = 1024 * 1024;
const BODY = 256 * 1024;
const NOTIFICATIONS = 20;
const PASSES = 2;
const BATCH = 10;

/** Budget (docs/architecture.md): the peak of resident memory of a function's process, including Node itself. */
export const memory: Benchmark = {
  name: 'memory',
  describes: 'memory of the channel functions at batch 10 with bodies of 256 KB',
  async run(context) {
    const world = await startWorld(context, { email: true });
    try {
      const plain = await plainPeak(world, context);
      const figures: Measurement[] = [];
      for (const channel of CHANNELS) figures.push(await peakOf(channel, world, context, plain));
      return figures;
    } finally {
      await world.stop();
    }
  },
};

async function peakOf(channel: Channel, world: World, { step }: BenchContext, plain: number): Promise<Measurement> {
  step(`memory: ${NOTIFICATIONS} bodies of 256 KB, by send-${channel}`);
  const service = `send-${channel}`;
  const items = await seedDue(world, NOTIFICATIONS, shapeOf(channel, world));
  const fn = await world.start(service, { nodeOptions: limits(world, service) });
  const events = eventsFor(items, standardLane(world, service).arn, BATCH);
  const posts = world.receiver.count();
  let outcome = await fn.run(events);
  for (let pass = 1; pass < PASSES; pass++) {
    await putAll(world, tableNames(world).notification_log, items);
    outcome = await fn.run(events);
  }
  await fn.stop();
  return {
    id: `memory.${channel}`,
    what: `memory of send-${channel}, batch of 10, bodies of 256 KB`,
    figure: peak(outcome),
    unit: 'MB',
    budget: { max: world.functionPlan(service).memoryMegabytes },
    plain,
    note: noteOf(channel, world.receiver.count() - posts),
    details: { 'MB swapped': outcome.swapped / MEGABYTE },
  };
}

function noteOf(channel: Channel, posts: number): string {
  const handled = `${NOTIFICATIONS * PASSES} notifications`;
  if (channel === 'email' || posts === NOTIFICATIONS * PASSES) return handled;
  return `${handled}, of which ${posts} were posted: the channel takes no message of this size`;
}

function peak({ peak_rss }: SeriesOutcome): number {
  return peak_rss / MEGABYTE;
}

/** Node's heap limit as on Lambda and in the local runtime: a tenth of the memory is not for the heap. */
function limits(world: World, service: string): string[] {
  return [`--max-old-space-size=${Math.floor(world.functionPlan(service).memoryMegabytes * 0.9)}`];
}

function shapeOf(channel: Channel, world: World): RowShape {
  const recipients: Record<Channel, string> = {
    email: 'someone@example.com',
    slack: '#general',
    teams: `${world.receiver.url}/teams/ok`,
    webhook: `${world.receiver.url}/ok`,
  };
  return {
    channel,
    recipient: recipients[channel],
    body: bodyOf(BODY),
    // The conversion of a format takes most memory, where there is one.
    format: channel === 'webhook' ? 'PLAIN' : 'MARKDOWN',
    ...(channel === 'slack' && { integration: SAMPLE_INTEGRATIONS.slack }),
    ...(channel === 'webhook' && { integration: SAMPLE_INTEGRATIONS.webhook }),
  };
}

async function plainPeak(world: World, { step, home }: BenchContext): Promise<number> {
  step('memory: the plain reading');
  const now = new Date();
  const rows = Array.from({ length: NOTIFICATIONS }, () => toItem(failedRow(shapeOf('webhook', world), now)));
  await putAll(world, PLAIN_TABLES.log, rows);
  const fn = await world.start('send-webhook', {
    bundle: await bundle('bench/plain/plain-worker.ts', home),
    nodeOptions: limits(world, 'send-webhook'),
  });
  const outcome = await fn.run(eventsFor(rows, 'arn:aws:sqs:us-east-1:000000000000:plain', 1));
  await fn.stop();
  return peak(outcome);
}
