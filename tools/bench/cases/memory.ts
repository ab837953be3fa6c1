import { join } from 'node:path';
import { CHANNELS, type Channel } from '../../../src/core/model/channels.ts';
import { SAMPLE_INTEGRATIONS } from '../../../src/local/runtime/secrets-file.ts';
import { startSes } from '../../../src/local/stand-ins/stand-ins.ts';
import type { BenchContext, Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { tableNames } from '../setup/function.ts';
import { eventsFor, standardLane, standardMapping } from '../setup/lanes.ts';
import { bodyOf, dueAgain, putAll, putPlain, type RowShape, seedDue } from '../setup/rows.ts';
import { inWorld, type World } from '../setup/world.ts';

const PLAIN_NOTIFICATIONS = 20;

/** Budget (docs/architecture.md): the peak of resident memory of a function's process, including Node itself. */
export const memory: Benchmark = {
  name: 'memory',
  describes: 'memory of the channel functions at full batches of bodies of 256 KB',
  run: (context) =>
    inWorld(context, async (world) => {
      const ses = await startSes(join(world.directory, 'ses.log'));
      world.until('SES', () => ses.child.stop());
      const plain = await plainPeak(world, context.step);
      const figures: Measurement[] = [];
      for (const channel of CHANNELS) figures.push(await peakOf(channel, world, ses.endpoint, context.step, plain));
      return figures;
    }),
};

async function peakOf(
  channel: Channel,
  world: World,
  ses: string,
  step: BenchContext['step'],
  plain: number,
): Promise<Measurement> {
  const service = `send-${channel}`;
  const { batchSize } = standardMapping(world, service);
  const count = 2 * batchSize;
  step(`memory: ${count} bodies of 256 KB, by ${service}`);
  const items = await seedDue(world, count, shapeOf(channel, world));
  const fn = world.start(service, { heapLimited: true, services: { ses } });
  const events = eventsFor(items, standardLane(world, service).arn, batchSize);
  const posts = world.receiver.count();
  await fn.run(events);
  await putAll(world, tableNames(world).notification_log, dueAgain(items, 1));
  await fn.run(events);
  const peak = fn.memory();
  await fn.stop();
  const [handled, posted] = [2 * count, world.receiver.count() - posts];
  const partly = channel !== 'email' && posted !== handled;
  const refused = partly ? `, of which ${posted} were posted: the channel takes no message of this size` : '';
  return {
    id: `memory.${channel}`,
    what: `memory of ${service}, batch of ${batchSize}, bodies of 256 KB`,
    figure: peak,
    unit: 'MB',
    budget: { max: world.planOf(service).memoryMegabytes },
    plain,
    note: `${handled} notifications${refused}`,
  };
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
    body: bodyOf(256 * 1024),
    // The conversion of a format takes most memory, where there is one.
    format: channel === 'webhook' ? 'PLAIN' : 'MARKDOWN',
    ...(channel === 'slack' && { integration: SAMPLE_INTEGRATIONS.slack }),
    ...(channel === 'webhook' && { integration: SAMPLE_INTEGRATIONS.webhook }),
  };
}

async function plainPeak(world: World, step: BenchContext['step']): Promise<number> {
  step('memory: the plain reading');
  const rows = await putPlain(world, PLAIN_NOTIFICATIONS, shapeOf('webhook', world));
  const fn = await world.startPlain('send-webhook', 'plain-worker', { heapLimited: true });
  await fn.run(eventsFor(rows, standardLane(world, 'send-webhook').arn, 1));
  const peak = fn.memory();
  await fn.stop();
  return peak;
}
