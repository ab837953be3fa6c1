import { randomUUID } from 'node:crypto';
import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { PRIORITIES } from '../../../src/core/model/channels.ts';
import type { SweepResult } from '../../../src/core/sweep/sweep-run.ts';
import type { Benchmark } from '../benchmark.ts';
import { inTurns, median, REFERENCE_NOTE, toReference } from '../figure.ts';
import { PLAIN_QUEUE } from '../plain/plain-tables.ts';
import { tableNames, variableOf } from '../setup/function.ts';
import { queueAt } from '../setup/lanes.ts';
import { bodyOf, dueItem, putAll, putPlain } from '../setup/rows.ts';
import { inWorld, singleCalls, type World } from '../setup/world.ts';

const DUE = 2_000;
const WARM_UP = 3;
const SWEEPS = 5;
const PLAIN_DUE = 300;

const shape = { channel: 'webhook', recipient: 'https://example.com/hook', body: bodyOf(1024) } as const;

/** Budget (docs/architecture.md): the CPU of the dispatcher's process. The stand-ins run in other processes. */
export const dispatcherCpu: Benchmark = {
  name: 'dispatcher-cpu',
  describes: 'CPU of the dispatcher for a notification',
  run: (context) =>
    inWorld(context, async (world) => {
      context.step(`dispatcher-cpu: seeding ${DUE} due`);
      const call = await singleCalls(world);
      const candidates = { call, deployed: await deployed(world), plain: await plainDispatcher(world) };
      const step = (round: string) => context.step(`dispatcher-cpu: ${round}, sweeps over ${DUE} due`);
      const samples = await inTurns(candidates, { warmUp: WARM_UP, rounds: SWEEPS, step });
      return [
        {
          id: 'dispatcher_cpu',
          what: 'CPU of the dispatcher for a notification',
          figure: median(toReference(samples.deployed, samples.call)),
          unit: 'µs',
          budget: { max: 100 },
          plain: median(toReference(samples.plain, samples.call)),
          note: `median of ${SWEEPS} sweeps over ${DUE.toLocaleString('en')} due, after ${WARM_UP} to warm up; ${REFERENCE_NOTE}`,
          details: { 'µs, median': median(samples.deployed), 'µs, a single GetItem': median(samples.call) },
        },
      ];
    }),
};

/** A sweep writes nothing, so the same rows are due in the next sweep, which must find the lanes empty to send them again. */
async function deployed(world: World): Promise<() => Promise<number>> {
  const now = new Date();
  const items = Array.from({ length: DUE }, (_, i) => {
    const priority = PRIORITIES[i % PRIORITIES.length] ?? 'normal';
    return dueItem({ ...shape, priority }, now, randomUUID());
  });
  await putAll(world, tableNames(world).notification_log, items);
  const dispatcher = world.start('dispatcher');
  const lanes = JSON.parse(variableOf(world.planOf('dispatcher'), 'LANE_QUEUES'));
  const urls: string[] = Object.values(lanes.webhook ?? {});
  return async () => {
    for (const QueueUrl of urls) await world.clients.sqs.send(new PurgeQueueCommand({ QueueUrl }));
    const { cpu_us, results } = await dispatcher.run([{}]);
    const { dispatched } = results[0] as SweepResult;
    if (dispatched !== DUE) throw new Error(`A sweep dispatched ${dispatched} of ${DUE}`);
    return cpu_us / DUE;
  };
}

async function plainDispatcher(world: World): Promise<() => Promise<number>> {
  await putPlain(world, PLAIN_DUE, shape);
  const dispatcher = await world.startPlain('dispatcher', 'plain-dispatcher');
  const event = { queue_url: queueAt(world, PLAIN_QUEUE).url };
  return async () => {
    const { cpu_us, results } = await dispatcher.run([event]);
    if (results[0] !== PLAIN_DUE) throw new Error(`The plain sweep queued ${results[0]} of ${PLAIN_DUE}`);
    return cpu_us / PLAIN_DUE;
  };
}
