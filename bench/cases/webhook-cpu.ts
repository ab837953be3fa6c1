import { type Item, toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { SAMPLE_INTEGRATIONS } from '../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { PLAIN_TABLES } from '../plain/plain-tables.ts';
import { REFERENCE_NOTE, toReference } from '../reference-machine.ts';
import { bodyOf } from '../setup/body.ts';
import { bundle } from '../setup/bundle.ts';
import type { MeasuredFunction } from '../setup/function.ts';
import { eventsFor, expectNoFailures } from '../setup/lambda-poller.ts';
import { standardLane } from '../setup/lane-queue.ts';
import { failedRow, putAll, seedDue } from '../setup/rows.ts';
import { tableNames } from '../setup/table-names.ts';
import { startWorld, type World } from '../setup/world.ts';
import { median } from '../statistics.ts';

const NOTIFICATIONS = 200;
const BATCH = 10;
const WARM_UP = 4;
const ROUNDS = 3;
/** Parts that are left out in turn; the difference is the cost of the part. */
const PARTS = ['decryption', 'post'] as const;

/**
 * Design §9: the CPU of the channel function's process. Stand-ins and receiver run in other processes. The candidates
 * take turns, so that other work of the machine affects them alike.
 */
export const webhookCpu: Benchmark = {
  name: 'webhook-cpu',
  describes: 'CPU of send-webhook for a delivery, in batches of 10',
  async run(context) {
    const world = await startWorld(context);
    try {
      context.step(`webhook-cpu: seeding ${NOTIFICATIONS} notifications`);
      const candidates = await startCandidates(world);
      for (let round = 0; round < WARM_UP + ROUNDS; round++) {
        context.step(`webhook-cpu: round ${round + 1} of ${WARM_UP + ROUNDS}, ${NOTIFICATIONS} deliveries each`);
        for (const candidate of candidates) {
          const sample = await pass(world, candidate);
          if (round >= WARM_UP) candidate.samples.push(sample);
        }
      }
      return [measurementOf(candidates)];
    } finally {
      await world.stop();
    }
  },
};

interface Candidate {
  readonly name: string;
  readonly fn: MeasuredFunction;
  readonly table: string;
  /** The rows before each pass: due. */
  readonly items: readonly Item[];
  readonly events: () => readonly unknown[];
  /** Whether the notifications of every event reach the receiver. */
  readonly posts: boolean;
  /** Milliseconds of CPU per delivery. */
  readonly samples: number[];
}

async function startCandidates(world: World): Promise<Candidate[]> {
  const recipient = `${world.receiver.url}/ok`;
  const shape = {
    channel: 'webhook',
    recipient,
    body: bodyOf(1024),
    integration: SAMPLE_INTEGRATIONS.webhook,
  } as const;
  const start = async (entry: string, environment: Readonly<Record<string, string>> = {}) =>
    world.start('send-webhook', { bundle: await bundle(entry, world.directory), environment });
  const { arn } = standardLane(world, 'send-webhook');
  const table = tableNames(world).notification_log;
  const items = await seedDue(world, NOTIFICATIONS, shape);
  const ours = { table, items, posts: true, events: () => eventsFor(items, arn, BATCH) };
  const now = new Date();
  const fatRows = Array.from({ length: NOTIFICATIONS }, () => toItem(failedRow(shape, now)));
  const without = (part: (typeof PARTS)[number]) =>
    start('bench/variants/send-webhook.ts', { BENCH_WITHOUT: part, BENCH_RECIPIENT: recipient });
  const candidates: Omit<Candidate, 'samples'>[] = [
    { ...ours, name: 'deployed', fn: await world.start('send-webhook') },
    { ...ours, name: 'decryption', fn: await without('decryption') },
    { ...ours, name: 'post', fn: await without('post'), posts: false },
    {
      name: 'plain',
      fn: await start('bench/plain/plain-worker.ts'),
      table: PLAIN_TABLES.log,
      items: fatRows,
      posts: true,
      events: () => eventsFor(fatRows, arn, 1),
    },
    {
      ...ours,
      name: 'get-item',
      fn: await start('bench/variants/get-item.ts'),
      posts: false,
      events: () => items.map(({ log_id }) => ({ table, log_id: log_id?.S })),
    },
  ];
  return candidates.map((candidate) => ({ ...candidate, samples: [] }));
}

/** Makes the rows due again and delivers them. @returns milliseconds of CPU per delivery */
async function pass(world: World, { name, fn, table, items, events, posts }: Candidate): Promise<number> {
  await putAll(world, table, items);
  const before = world.receiver.count();
  const { results, cpu_us } = await fn.run(events());
  expectNoFailures(results);
  const sent = world.receiver.count() - before;
  const expected = posts ? items.length : 0;
  if (sent !== expected) throw new Error(`${name}: ${sent} posts were received, ${expected} expected`);
  return cpu_us / 1000 / items.length;
}

function measurementOf(candidates: readonly Candidate[]): Measurement {
  const samplesOf = (name: string) => candidates.find((candidate) => candidate.name === name)?.samples ?? [];
  // Other work of the machine can only increase the time, so the least value is the best.
  const least = (name: string) => Math.min(...samplesOf(name));
  const call = least('get-item');
  const scaled = toReference(call * 1000);
  return {
    id: 'webhook_cpu',
    what: 'CPU of send-webhook for a delivery, batch of 10',
    figure: scaled(least('deployed')),
    unit: 'ms',
    budget: { max: 0.6 },
    plain: scaled(least('plain')),
    note: `least of ${ROUNDS} times ${NOTIFICATIONS} deliveries of 1 KB, after ${WARM_UP} to warm up; the plain reading neither decrypts, signs, guards nor logs; ${REFERENCE_NOTE}`,
    details: {
      'ms, least': least('deployed'),
      'ms, median': median(samplesOf('deployed')),
      ...Object.fromEntries(PARTS.map((part) => [`ms without ${part}`, least(part)])),
      'ms, plain reading': least('plain'),
      'ms, a single GetItem': call,
    },
  };
}
