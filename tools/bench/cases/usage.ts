import { awsClients } from '../../../src/local/emulator/aws-clients.ts';
import { SAMPLE_INTEGRATIONS } from '../../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { PLAIN_QUEUE } from '../plain/plain-tables.ts';
import { tableNames } from '../setup/function.ts';
import { BATCH, drain, queueAt, standardLane } from '../setup/lanes.ts';
import { startMeter, totalRequests } from '../setup/meter.ts';
import { bodyOf, putPlain, type RowShape, seedDue } from '../setup/rows.ts';
import { inWorld, type World } from '../setup/world.ts';

type Quantity = 'write_units' | 'read_units' | 'sqs_requests';

interface Run {
  readonly outcome: 'succeeds' | 'fails';
  readonly kilobytes: number;
  readonly retries: number;
  /** The budgets of what is judged in this run. */
  readonly max: Partial<Record<Quantity, number>>;
}

const FEW_RETRIES = 50;
/** Enough retries that the fixed cost of a sweep is shared as in a real sweep. */
const RETRIES = 500;
/** The failing ones are last, because failed rows stay in the work index and later sweeps would read them. */
const RUNS: readonly Run[] = [
  {
    outcome: 'succeeds',
    kilobytes: 1,
    retries: RETRIES,
    max: { write_units: 4, read_units: 1, sqs_requests: 0.35 },
  },
  { outcome: 'succeeds', kilobytes: 8, retries: RETRIES, max: { read_units: 1.07 } },
  { outcome: 'succeeds', kilobytes: 100, retries: FEW_RETRIES, max: { write_units: 4 } },
  { outcome: 'fails', kilobytes: 1, retries: FEW_RETRIES, max: { write_units: 5 } },
  { outcome: 'fails', kilobytes: 100, retries: FEW_RETRIES, max: { write_units: 5 } },
];

/**
 * Budget (docs/architecture.md): writes, reads and SQS requests of a retry, counted between the functions and the
 * stand-ins.
 */
export const usage: Benchmark = {
  name: 'usage',
  describes: 'write units, read units and SQS requests of a retry',
  run: (context) =>
    inWorld(context, async (world) => {
      const costOf = await meteredSides(world);
      const figures: Measurement[] = [];
      for (const run of RUNS) {
        const { outcome, kilobytes, retries } = run;
        const recipient = `${world.receiver.url}${outcome === 'succeeds' ? '/ok' : '/status/503'}`;
        const integration = SAMPLE_INTEGRATIONS.webhook;
        const shape = { channel: 'webhook', recipient, body: bodyOf(kilobytes * 1024), integration } as const;
        context.step(`usage: ${retries} retries of which each ${outcome}, bodies of ${kilobytes} KB`);
        const deployed = await costOf('deployed', retries, shape);
        context.step('usage: the same by the plain reading');
        figures.push(...figuresOf(run, deployed, await costOf('plain', FEW_RETRIES, shape)));
      }
      return figures;
    }),
};

/** The cost of one retry, from the sweep that finds it to its outcome. */
interface RetryCost extends Readonly<Record<Quantity, number>> {
  /** The sweep's part of the read units. */
  readonly sweep_read_units: number;
  /** The write units per table and index. */
  readonly written: Readonly<Record<string, number>>;
}

function figuresOf({ outcome, kilobytes, retries, max }: Run, cost: RetryCost, plain: RetryCost): Measurement[] {
  const texts: Record<Quantity, Pick<Measurement, 'id' | 'what' | 'unit' | 'note' | 'details'>> = {
    write_units: {
      id: `write_units.${outcome === 'succeeds' ? 'success' : 'failure'}.${kilobytes}kb`,
      what: `write units of a retry that ${outcome}, ${kilobytes} KB body`,
      unit: 'WU',
      details: cost.written,
    },
    read_units: {
      id: `read_units.${kilobytes}kb`,
      what: `read units of a retry, ${kilobytes} KB body`,
      unit: 'RU',
      note: `its share of a sweep over ${retries} due included; the plain reading scanned a table of due rows alone`,
      details: { 'of which the sweep': cost.sweep_read_units },
    },
    sqs_requests: {
      id: 'sqs_requests',
      what: 'SQS requests for a retry',
      unit: '',
      note: `sent, received and deleted in batches of 10, by one sweep over ${retries} due that looks at all backlogs first`,
    },
  };
  return (Object.keys(max) as Quantity[]).map((name) => {
    return { ...texts[name], figure: cost[name], plain: plain[name], budget: { max: max[name] ?? 0 } };
  });
}

/** Measures a side: seeds notifications, sweeps, handles the queued messages, and says what that cost. */
async function meteredSides(world: World) {
  const [dynamodb, sqs] = [await startMeter(world, 'dynamodb'), await startMeter(world, 'sqs')];
  const services = { dynamodb: dynamodb.url, sqs: sqs.url };
  const poller = awsClients(dynamodb.url, sqs.url);
  world.until('poller', async () => poller.destroy());
  const dispatcher = world.start('dispatcher', { services });
  const sender = world.start('send-webhook', { services });
  // The plain functions need only the endpoints, so they get the environments of the deployed functions.
  const plainDispatcher = await world.startPlain('dispatcher', 'plain-dispatcher', { services });
  const plainWorker = await world.startPlain('send-webhook', 'plain-worker', { services });
  const plainLane = queueAt(world, PLAIN_QUEUE);
  const sides = {
    deployed: {
      seed: seedDue,
      sweep: () => dispatcher.run([{}]),
      handle: () => drain(poller.sqs, standardLane(world, 'send-webhook'), sender, BATCH),
    },
    plain: {
      seed: putPlain,
      sweep: () => plainDispatcher.run([{ queue_url: plainLane.url }]),
      handle: () => drain(poller.sqs, plainLane, plainWorker),
    },
  };
  const roles = new Map(Object.entries(tableNames(world)).map(([role, name]) => [name, role]));
  const read = () => ({ storage: dynamodb.read(), queue: sqs.read() });
  return async (side: keyof typeof sides, count: number, shape: RowShape): Promise<RetryCost> => {
    const { seed, sweep, handle } = sides[side];
    await seed(world, count, shape);
    const posts = world.receiver.count();
    read();
    await sweep();
    const swept = read();
    const { handled } = await handle();
    const { storage, queue } = read();
    const sent = world.receiver.count() - posts;
    if (handled !== count || sent !== count) {
      throw new Error(`Of ${count} notifications ${handled} were handled and ${sent} posts received`);
    }
    return {
      // The sweep writes one record of its own, which does not belong to a retry.
      write_units: storage.write_units / count,
      read_units: (swept.storage.read_units + storage.read_units) / count,
      sweep_read_units: swept.storage.read_units / count,
      sqs_requests: (totalRequests(swept.queue) + totalRequests(queue)) / count,
      written: Object.fromEntries(
        Object.entries(storage.written).map(([name, units]) => [roles.get(name) ?? name, units / count]),
      ),
    };
  };
}
