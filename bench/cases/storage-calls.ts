import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { type Meter, startMeter, totalRequests } from '../setup/meter.ts';
import { BATCH, type Conditions, webhookPasses } from '../setup/webhook-passes.ts';
import { startWorld } from '../setup/world.ts';

const NOTIFICATIONS = 300;
const BATCHES = NOTIFICATIONS / BATCH;

/** What a batch reads and writes at least: one claim, one read of the contents, records, settlements. */
const INSTANT: Conditions = { name: 'instant', path: '/ok', tenants: 1 };
const SLOW: Conditions = { name: 'slow', path: '/slow/ok', tenants: 1 };

/** Budget (docs/architecture.md): requests to DynamoDB, counted between the function and the stand-in. */
export const storageCalls: Benchmark = {
  name: 'storage-calls',
  describes: 'storage calls of send-webhook per batch of 10, and the time that a batch takes',
  async run(context) {
    const world = await startWorld(context);
    const meter = await startMeter(world.services.dynamodb);
    try {
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
    } finally {
      await meter.close();
      await world.stop();
    }
  },
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
