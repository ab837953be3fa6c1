import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import type { Benchmark } from '../benchmark.ts';
import { median, REFERENCE_NOTE, toReference } from '../figure.ts';
import { PLAIN_TABLES } from '../plain/plain-tables.ts';
import { bundle } from '../setup/function.ts';
import { type Conditions, eventsFor, standardLane, webhookPasses } from '../setup/lanes.ts';
import { bodyOf, failedRow, putAll } from '../setup/rows.ts';
import { inWorld, singleCalls, type World } from '../setup/world.ts';

const NOTIFICATIONS = 200;
const WARM_UP = 4;
const ROUNDS = 5;

interface Budgeted extends Conditions {
  readonly id: string;
  readonly what: string;
  readonly max: number;
}

/** Budget (docs/architecture.md). A delivery that fails first is two attempts, and a message to SQS. */
const CONDITIONS: readonly Budgeted[] = [
  { id: '', name: 'instant', what: '', path: '/ok', tenants: 1, max: 0.45 },
  { id: '.slow', name: 'slow', what: ', answers after 20–300 ms', path: '/slow/ok', tenants: 1, max: 0.8 },
  { id: '.flaky', name: 'flaky', what: ', a fifth refused at first', path: '/flaky/ok', tenants: 1, max: 0.65 },
  { id: '.two_tenants', name: 'two tenants', what: ', two tenants', path: '/ok', tenants: 2, max: 0.45 },
  { id: '.tenants', name: '100 tenants', what: ', a hundred tenants', path: '/ok', tenants: 100, max: 0.45 },
];

/**
 * Budget (docs/architecture.md): the CPU of the channel function's process. Stand-ins and receiver run in other
 * processes. The candidates take turns, so that other work of the machine affects them alike.
 */
export const webhookCpu: Benchmark = {
  name: 'webhook-cpu',
  describes: 'CPU of send-webhook for a delivery, in batches of 10',
  run: (context) =>
    inWorld(context, async (world) => {
      context.step(`webhook-cpu: seeding ${CONDITIONS.length} times ${NOTIFICATIONS} notifications`);
      const candidates = await startCandidates(world);
      const samples = new Map(candidates.map(({ name }) => [name, [] as number[]]));
      for (let round = 0; round < WARM_UP + ROUNDS; round++) {
        context.step(`webhook-cpu: round ${round + 1} of ${WARM_UP + ROUNDS}, ${NOTIFICATIONS} deliveries each`);
        for (const { name, pass } of candidates) {
          const sample = await pass();
          if (round >= WARM_UP) samples.get(name)?.push(sample);
        }
      }
      const of = (name: string) => samples.get(name) ?? [];
      // Each sample is scaled by the GetItem of its own round, so that a slow minute of the machine counts for both.
      const scaled = (name: string) => {
        return median(of(name).map((cpu, round) => toReference((of('get-item')[round] ?? 0) * 1000)(cpu)));
      };
      return CONDITIONS.map(({ id, name, what, max }, index) => ({
        id: `webhook_cpu${id}`,
        what: `CPU of send-webhook for a delivery, batch of 10${what}`,
        figure: scaled(name),
        unit: 'ms',
        budget: { max },
        ...(index === 0 && {
          plain: scaled('plain'),
          note: `median of ${ROUNDS} rounds of ${NOTIFICATIONS} deliveries of 1 KB, after ${WARM_UP} to warm up; the plain reading neither decrypts, signs, guards nor logs; ${REFERENCE_NOTE}`,
          details: Object.fromEntries([...samples].map(([of, values]) => [`ms, ${of}`, median(values)])),
        }),
      }));
    }),
};

interface Candidate {
  readonly name: string;
  /** @returns milliseconds of CPU per delivery */
  readonly pass: () => Promise<number>;
}

async function startCandidates(world: World): Promise<Candidate[]> {
  const single = await singleCalls(world, NOTIFICATIONS);
  const deployed = await world.start('send-webhook');
  const ours: Candidate[] = [];
  for (const conditions of CONDITIONS) {
    const passes = await webhookPasses(world, NOTIFICATIONS, conditions);
    ours.push({ name: conditions.name, pass: () => passes.run(deployed) });
  }
  const plain = await plainPass(world);
  return [{ name: 'get-item', pass: async () => (await single()) / 1000 }, ...ours, { name: 'plain', pass: plain }];
}

async function plainPass(world: World): Promise<Candidate['pass']> {
  const fn = await world.start('send-webhook', {
    bundle: await bundle('bench/plain/plain-worker.ts', world.directory),
  });
  const shape = { channel: 'webhook', recipient: `${world.receiver.url}/ok`, body: bodyOf(1024) } as const;
  const now = new Date();
  const rows = Array.from({ length: NOTIFICATIONS }, () => toItem(failedRow(shape, now)));
  const { arn } = standardLane(world, 'send-webhook');
  return async () => {
    await putAll(world, PLAIN_TABLES.log, rows);
    return (await fn.run(eventsFor(rows, arn, 1))).cpu_us / 1000 / NOTIFICATIONS;
  };
}
