import { SAMPLE_INTEGRATIONS } from '../../src/local/runtime/secrets-file.ts';
import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { BATCH, type Conditions, webhookPasses } from '../setup/lanes.ts';
import { type Meter, startMeter, totalRequests } from '../setup/meter.ts';
import { meteredRuns, type RetryCost } from '../setup/metered-runs.ts';
import { bodyOf } from '../setup/rows.ts';
import { inWorld } from '../setup/world.ts';

/** Enough retries that the fixed cost of a sweep is shared as in a real sweep. */
const RETRIES = 500;
const FEW_RETRIES = 50;

/**
 * Budget (docs/architecture.md): writes, reads and SQS requests of a retry, counted between the functions and the
 * stand-ins.
 */
export const usage: Benchmark = {
  name: 'usage',
  describes: 'write units, read units and SQS requests of a retry',
  run: (context) =>
    inWorld(context, async (world) => {
      const runs = await meteredRuns(world);
      const measure = async (kilobytes: number, path: string, count: number): Promise<Costs> => {
        const recipient = `${world.receiver.url}${path}`;
        const body = bodyOf(kilobytes * 1024);
        const shape = { channel: 'webhook', recipient, body, integration: SAMPLE_INTEGRATIONS.webhook } as const;
        context.step(`usage: ${count} retries answered by ${path}, bodies of ${kilobytes} KB`);
        const deployed = await runs.deployed(count, shape);
        context.step('usage: the same by the plain reading');
        return { deployed, plain: await runs.plain(FEW_RETRIES, shape) };
      };
      const delivered1 = await measure(1, '/ok', RETRIES);
      const delivered8 = await measure(8, '/ok', RETRIES);
      const delivered100 = await measure(100, '/ok', FEW_RETRIES);
      // Runs last, because failed rows stay in the work index and later sweeps would read them.
      const failed1 = await measure(1, '/status/503', FEW_RETRIES);
      const failed100 = await measure(100, '/status/503', FEW_RETRIES);
      return [
        writes('success', 1, delivered1, 4),
        writes('success', 100, delivered100, 4),
        writes('failure', 1, failed1, 5),
        writes('failure', 100, failed100, 5),
        reads(1, delivered1),
        reads(8, delivered8),
        {
          id: 'sqs_requests',
          what: 'SQS requests for a retry',
          figure: delivered1.deployed.sqs_requests,
          unit: '',
          budget: { max: 0.35 },
          plain: delivered1.plain.sqs_requests,
          note: `sent, received and deleted in batches of 10, by one sweep over ${RETRIES} due that looks at all backlogs first`,
        },
      ];
    }),
};

interface Costs {
  readonly deployed: RetryCost;
  readonly plain: RetryCost;
}

function writes(
  outcome: 'success' | 'failure',
  kilobytes: number,
  { deployed, plain }: Costs,
  max: number,
): Measurement {
  return {
    id: `write_units.${outcome}.${kilobytes}kb`,
    what: `write units of a retry that ${outcome === 'success' ? 'succeeds' : 'fails'}, ${kilobytes} KB body`,
    figure: deployed.write_units,
    unit: 'WU',
    budget: { max },
    plain: plain.write_units,
    details: { ...deployed.written, 'bytes of the row in the end': deployed.row_bytes },
  };
}

function reads(kilobytes: number, { deployed, plain }: Costs): Measurement {
  return {
    id: `read_units.${kilobytes}kb`,
    what: `read units of a retry, ${kilobytes} KB body`,
    figure: deployed.read_units,
    unit: 'RU',
    budget: { max: 1 },
    plain: plain.read_units,
    note: `its share of a sweep over ${deployed.retries} due included; the plain reading scanned a table of due rows alone`,
    details: { 'of which the sweep': deployed.sweep_read_units },
  };
}

const NOTIFICATIONS = 300;
const BATCHES = NOTIFICATIONS / BATCH;

/** What a batch reads and writes at least: one claim, one read of the contents, records, settlements. */
const INSTANT: Conditions = { name: 'instant', path: '/ok', tenants: 1 };
const SLOW: Conditions = { name: 'slow', path: '/slow/ok', tenants: 1 };

/** Budget (docs/architecture.md): requests to DynamoDB, counted between the function and the stand-in. */
export const storageCalls: Benchmark = {
  name: 'storage-calls',
  describes: 'storage calls of send-webhook per batch of 10, and the time that a batch takes',
  run: (context) =>
    inWorld(context, async (world) => {
      const meter = await startMeter(world, 'dynamodb');
      const fn = await world.start('send-webhook', { services: { dynamodb: meter.url } });
      const measured: Measurement[] = [];
      for (const conditions of [INSTANT, SLOW]) {
        context.step(`storage-calls: ${BATCHES} batches, answers ${conditions.name}`);
        const passes = await webhookPasses(world, NOTIFICATIONS, conditions);
        // The first pass also reads data keys, breakers and budgets.
        await passes.run(fn);
        meter.read();
        await passes.run(fn);
        measured.push(measurementOf(conditions, meter));
      }
      return measured;
    }),
};

function measurementOf({ name }: Conditions, meter: Meter): Measurement {
  const reading = meter.read();
  const slow = name === SLOW.name;
  return {
    id: `storage_calls.${name}`,
    what: `storage calls per batch of ${BATCH}, answers ${slow ? 'after 20–300 ms' : 'at once'}`,
    figure: totalRequests(reading) / BATCHES,
    unit: '',
    budget: { max: slow ? 8 : 5 },
    note: `${BATCHES} batches`,
    details: Object.fromEntries(
      Object.entries(reading.requests).map(([operation, count]) => [operation, count / BATCHES]),
    ),
  };
}
