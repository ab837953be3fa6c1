import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { SAMPLE_INTEGRATIONS } from '../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { PLAIN_TABLES } from '../plain/plain-tables.ts';
import { REFERENCE_NOTE, toReference } from '../reference-machine.ts';
import { bodyOf } from '../setup/body.ts';
import { bundle } from '../setup/bundle.ts';
import { eventsFor, expectNoFailures } from '../setup/lambda-poller.ts';
import { standardLane } from '../setup/lane-queue.ts';
import { failedRow, putAll } from '../setup/rows.ts';
import { tableNames } from '../setup/table-names.ts';
import { BATCH, type Conditions, KILOBYTE, webhookPasses } from '../setup/webhook-passes.ts';
import { startWorld, type World } from '../setup/world.ts';
import { median } from '../statistics.ts';

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
  { id: 'webhook_cpu', name: 'instant', what: '', path: '/ok', tenants: 1, max: 0.45 },
  { id: 'webhook_cpu.slow', name: 'slow', what: ', answers after 20–300 ms', path: '/slow/ok', tenants: 1, max: 0.8 },
  {
    id: 'webhook_cpu.flaky',
    name: 'flaky',
    what: ', a fifth refused at first',
    path: '/flaky/ok',
    tenants: 1,
    max: 0.65,
  },
  { id: 'webhook_cpu.two_tenants', name: 'two tenants', what: ', two tenants', path: '/ok', tenants: 2, max: 0.45 },
  { id: 'webhook_cpu.tenants', name: '100 tenants', what: ', a hundred tenants', path: '/ok', tenants: 100, max: 0.45 },
];

/** Parts that are left out in turn; the difference is the cost of the part. */
const PARTS = ['decryption', 'post'] as const;

/**
 * Budget (docs/architecture.md): the CPU of the channel function's process. Stand-ins and receiver run in other
 * processes. The candidates take turns, so that other work of the machine affects them alike.
 */
export const webhookCpu: Benchmark = {
  name: 'webhook-cpu',
  describes: 'CPU of send-webhook for a delivery, in batches of 10',
  async run(context) {
    const world = await startWorld(context);
    try {
      context.step(`webhook-cpu: seeding ${CONDITIONS.length} times ${NOTIFICATIONS} notifications`);
      const candidates = await startCandidates(world);
      for (let round = 0; round < WARM_UP + ROUNDS; round++) {
        context.step(`webhook-cpu: round ${round + 1} of ${WARM_UP + ROUNDS}, ${NOTIFICATIONS} deliveries each`);
        for (const { pass, samples } of candidates) {
          const sample = await pass();
          if (round >= WARM_UP) samples.push(sample);
        }
      }
      return measurementsOf(new Map(candidates.map(({ name, samples }) => [name, samples])));
    } finally {
      await world.stop();
    }
  },
};

interface Candidate {
  readonly name: string;
  /** @returns milliseconds of CPU per delivery */
  readonly pass: () => Promise<number>;
  readonly samples: number[];
}

async function startCandidates(world: World): Promise<Candidate[]> {
  const start = async (entry: string, environment: Readonly<Record<string, string>> = {}) =>
    world.start('send-webhook', { bundle: await bundle(entry, world.directory), environment });
  const candidate = (name: string, pass: Candidate['pass']): Candidate => ({ name, pass, samples: [] });
  const deployed = await world.start('send-webhook');
  const ours: Candidate[] = [];
  for (const conditions of CONDITIONS) {
    const passes = await webhookPasses(world, NOTIFICATIONS, conditions);
    ours.push(candidate(conditions.name, () => passes.run(deployed)));
  }
  const instant = await webhookPasses(world, NOTIFICATIONS, CONDITIONS[0] as Conditions);
  const recipient = `${world.receiver.url}/ok`;
  const without = (part: (typeof PARTS)[number]) =>
    start('bench/variants/send-webhook.ts', { BENCH_WITHOUT: part, BENCH_RECIPIENT: recipient });
  const undecrypted = await without('decryption');
  const unposted = await without('post');
  const getItem = await start('bench/variants/get-item.ts');
  const table = tableNames(world).notification_log;
  const reads = instant.items.map(({ log_id }) => ({ table, log_id: log_id?.S }));
  const cpuOf = async (fn: typeof getItem, events: readonly unknown[]) => {
    const { results, cpu_us } = await fn.run(events);
    expectNoFailures(results);
    return cpu_us / 1000 / NOTIFICATIONS;
  };
  const { arn } = standardLane(world, 'send-webhook');
  return [
    candidate('get-item', () => cpuOf(getItem, reads)),
    ...ours,
    candidate('decryption', () => instant.run(undecrypted)),
    candidate('post', async () => {
      await putAll(world, table, instant.items);
      return cpuOf(unposted, eventsFor(instant.items, arn, BATCH));
    }),
    candidate('plain', await plainPass(world, recipient, cpuOf)),
  ];
}

async function plainPass(
  world: World,
  recipient: string,
  cpuOf: (fn: Awaited<ReturnType<World['start']>>, events: readonly unknown[]) => Promise<number>,
): Promise<Candidate['pass']> {
  const fn = await world.start('send-webhook', {
    bundle: await bundle('bench/plain/plain-worker.ts', world.directory),
  });
  const shape = {
    channel: 'webhook',
    recipient,
    body: bodyOf(KILOBYTE),
    integration: SAMPLE_INTEGRATIONS.webhook,
  } as const;
  const now = new Date();
  const rows = Array.from({ length: NOTIFICATIONS }, () => toItem(failedRow(shape, now)));
  const { arn } = standardLane(world, 'send-webhook');
  return async () => {
    await putAll(world, PLAIN_TABLES.log, rows);
    return cpuOf(fn, eventsFor(rows, arn, 1));
  };
}

type Samples = ReadonlyMap<string, readonly number[]>;

function measurementsOf(samples: Samples): Measurement[] {
  const of = (name: string) => samples.get(name) ?? [];
  const calls = of('get-item');
  // Each sample is scaled by the GetItem of its own round, so that a slow minute of the machine counts for both.
  const scaled = (name: string) => median(of(name).map((cpu, round) => toReference((calls[round] ?? 0) * 1000)(cpu)));
  const raw = Object.fromEntries(
    [...samples].map(([name]) => [
      `ms, ${PARTS.some((part) => part === name) ? 'without ' : ''}${name}`,
      median(of(name)),
    ]),
  );
  return CONDITIONS.map(({ id, name, what, max }, index) => ({
    id,
    what: `CPU of send-webhook for a delivery, batch of 10${what}`,
    figure: scaled(name),
    unit: 'ms',
    budget: { max },
    ...(index === 0 && {
      plain: scaled('plain'),
      note: `median of ${ROUNDS} rounds of ${NOTIFICATIONS} deliveries of 1 KB, after ${WARM_UP} to warm up; the plain reading neither decrypts, signs, guards nor logs; ${REFERENCE_NOTE}`,
      details: raw,
    }),
  }));
}
