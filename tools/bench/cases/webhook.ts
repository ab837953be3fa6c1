import type { Benchmark } from '../benchmark.ts';
import { inTurns, median, REFERENCE_NOTE, toReference } from '../figure.ts';
import { PLAIN_TABLES } from '../plain/plain-tables.ts';
import { BATCH, type Conditions, eventsFor, standardLane, webhookPasses } from '../setup/lanes.ts';
import { startMeter, totalRequests } from '../setup/meter.ts';
import { bodyOf, putAll, putPlain } from '../setup/rows.ts';
import { inWorld, singleCalls, type World } from '../setup/world.ts';

/** What a batch reads and writes at least: one claim, one read of the contents, records, settlements. */
const INSTANT: Conditions = { name: 'instant', path: '/ok', tenants: 1 };
const SLOW: Conditions = { name: 'slow', path: '/slow/ok', tenants: 1 };

const BATCHES = 30;

/** Budget (docs/architecture.md): requests to DynamoDB, counted between the function and the stand-in. */
export const storageCalls: Benchmark = {
  name: 'storage-calls',
  describes: 'storage calls of send-webhook per batch of 10',
  run: (context) =>
    inWorld(context, async (world) => {
      const meter = await startMeter(world, 'dynamodb');
      const fn = world.start('send-webhook', { services: { dynamodb: meter.url } });
      const measure = async (conditions: Conditions, answers: string, max: number) => {
        context.step(`storage-calls: ${BATCHES} batches, answers ${answers}`);
        const pass = await webhookPasses(world, BATCHES * BATCH, conditions);
        // The first pass also reads data keys, breakers and budgets.
        await pass(fn);
        meter.read();
        await pass(fn);
        const reading = meter.read();
        const each = Object.entries(reading.requests).map(([operation, count]) => [operation, count / BATCHES]);
        return {
          id: `storage_calls.${conditions.name}`,
          unit: '',
          budget: { max },
          note: `${BATCHES} batches`,
          what: `storage calls per batch of ${BATCH}, answers ${answers}`,
          figure: totalRequests(reading) / BATCHES,
          details: Object.fromEntries(each),
        };
      };
      return [await measure(INSTANT, 'at once', 5), await measure(SLOW, 'after 20–300 ms', 8)];
    }),
};

const NOTIFICATIONS = 200;
const WARM_UP = 4;
const ROUNDS = 5;

/** Budget (docs/architecture.md). A delivery that fails first is two attempts, and a message to SQS. */
const BUDGETED: readonly (Conditions & { readonly id: string; readonly what: string; readonly max: number })[] = [
  { ...INSTANT, id: '', what: '', max: 0.45 },
  { ...SLOW, id: '.slow', what: ', answers after 20–300 ms', max: 0.8 },
  { name: 'flaky', path: '/flaky/ok', tenants: 1, id: '.flaky', what: ', a fifth refused at first', max: 0.65 },
  { name: 'two tenants', path: '/ok', tenants: 2, id: '.two_tenants', what: ', two tenants', max: 0.45 },
  { name: '100 tenants', path: '/ok', tenants: 100, id: '.tenants', what: ', a hundred tenants', max: 0.45 },
];

/** Budget (docs/architecture.md): the CPU of the channel function's process. The stand-ins run in other processes. */
export const webhookCpu: Benchmark = {
  name: 'webhook-cpu',
  describes: 'CPU of send-webhook for a delivery, in batches of 10',
  run: (context) =>
    inWorld(context, async (world) => {
      context.step(`webhook-cpu: seeding ${BUDGETED.length} times ${NOTIFICATIONS} notifications`);
      const step = (round: string) => context.step(`webhook-cpu: ${round}, ${NOTIFICATIONS} deliveries each`);
      const samples = await inTurns(await candidatesOf(world), { warmUp: WARM_UP, rounds: ROUNDS, step });
      const scaled = (name: string) => median(toReference(samples[name] ?? [], samples['get-item'] ?? [])) / 1000;
      return BUDGETED.map(({ id, name, what, max }, index) => ({
        id: `webhook_cpu${id}`,
        what: `CPU of send-webhook for a delivery, batch of 10${what}`,
        figure: scaled(name),
        unit: 'ms',
        budget: { max },
        ...(index === 0 && {
          plain: scaled('plain'),
          note: `median of ${ROUNDS} rounds of ${NOTIFICATIONS} deliveries of 1 KB, after ${WARM_UP} to warm up; the plain reading neither decrypts, signs, guards nor logs; ${REFERENCE_NOTE}`,
          details: Object.fromEntries(Object.entries(samples).map(([of, cpu]) => [`µs, ${of}`, median(cpu)])),
        }),
      }));
    }),
};

/** Passes by name; each answers with microseconds of CPU per delivery. */
async function candidatesOf(world: World): Promise<Record<string, () => Promise<number>>> {
  const candidates: Record<string, () => Promise<number>> = { 'get-item': await singleCalls(world, NOTIFICATIONS) };
  const deployed = world.start('send-webhook');
  for (const conditions of BUDGETED) {
    const pass = await webhookPasses(world, NOTIFICATIONS, conditions);
    candidates[conditions.name] = () => pass(deployed);
  }
  const plain = await world.startPlain('send-webhook', 'plain-worker');
  const shape = { channel: 'webhook', recipient: `${world.receiver.url}/ok`, body: bodyOf(1024) } as const;
  const rows = await putPlain(world, NOTIFICATIONS, shape);
  const { arn } = standardLane(world, 'send-webhook');
  const pass = async () => {
    await putAll(world, PLAIN_TABLES.log, rows);
    return (await plain.run(eventsFor(rows, arn, 1))).cpu_us / NOTIFICATIONS;
  };
  return { ...candidates, plain: pass };
}
