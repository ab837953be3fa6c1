import { paginateScan } from '@aws-sdk/client-dynamodb';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import { PRIORITIES } from '../../../src/core/model/channels.ts';
import type { SweepResult } from '../../../src/core/sweep/sweep-run.ts';
import type { BenchContext, Benchmark } from '../benchmark.ts';
import { plainScan } from '../plain/plain-tables.ts';
import { deployedFunctions, tableNames } from '../setup/function.ts';
import { startMeter } from '../setup/meter.ts';
import { bodyOf, dueItem, importTable } from '../setup/rows.ts';
import { inWorld, type World } from '../setup/world.ts';

const DUE = 1_000;
const SMALL = 10_000;
const LARGE = 1_000_000;
/** Pages of 1 MB. A scan reads all rows alike, so the cost of a large table follows from its first pages. */
const SCANNED_PAGES = 10;

/** Budget (docs/architecture.md): the read units of a sweep grow with the number of due rows, never with the table. */
export const sweepReads: Benchmark = {
  name: 'sweep-reads',
  describes: 'read units of a sweep over 1,000 due among 10,000 and among 1,000,000 rows',
  async run(context) {
    const small = await measure(context, SMALL);
    const large = await measure(context, LARGE);
    return [
      {
        id: 'sweep_reads',
        what: `reads of a sweep over 1,000 due, among 10⁶ rows against 10⁴`,
        figure: large.sweep / small.sweep,
        unit: '×',
        budget: { min: 0.95, max: 1.05 },
        plain: large.scan / small.scan,
        note: 'the plain reading scans; at 10⁶ rows it was measured on the first ten pages',
        details: {
          'RU among 10⁴': small.sweep,
          'RU among 10⁶': large.sweep,
          'RU of a scan of 10⁴': small.scan,
          'RU of a scan of 10⁶': large.scan,
        },
      },
    ];
  },
};

/** Rows of which 1,000 are due now. The other rows are delivered and have only the columns that a scan filters by. */
function* tableOf(rows: number): Generator<Item> {
  const now = new Date();
  for (let i = 0; i < DUE; i++) {
    const priority = PRIORITIES[i % PRIORITIES.length] ?? 'normal';
    const shape = { channel: 'webhook', recipient: 'https://example.com/hook', body: bodyOf(10), priority } as const;
    // Equal ids in every table give equal partitions of the index. DynamoDB rounds the read of each up to 4 KB.
    yield dueItem(shape, now, `due-${String(i).padStart(32, '0')}`);
  }
  for (let i = DUE; i < rows; i++) {
    yield { log_id: { S: `delivered-${i}` }, tenant_id: { S: 'TENANT001' }, send_status: { S: 'SUCCESS' } };
  }
}

async function measure(context: BenchContext, rows: number): Promise<{ sweep: number; scan: number }> {
  context.step(`sweep-reads: a table of ${rows.toLocaleString('en')} rows`);
  const name = tableNames(deployedFunctions(context.stack)).notification_log;
  const dataDir = await importTable(context, `rows-${rows}`, name, tableOf(rows));
  const units = async (world: World) => {
    const meter = await startMeter(world, 'dynamodb');
    const dispatcher = world.start('dispatcher', { services: { dynamodb: meter.url } });
    const { results } = await dispatcher.run([{}]);
    const { dispatched } = results[0] as SweepResult;
    if (dispatched !== DUE) throw new Error(`The sweep dispatched ${dispatched} of ${DUE}`);
    return { sweep: meter.read().read_units, scan: await scanUnits(world, rows) };
  };
  return inWorld(context, units, dataDir);
}

async function scanUnits(world: World, rows: number): Promise<number> {
  const scan = plainScan(tableNames(world).notification_log, new Date());
  const counted = { ...scan, Select: 'COUNT', ReturnConsumedCapacity: 'TOTAL' } as const;
  let [pages, units, scanned] = [0, 0, 0];
  for await (const page of paginateScan({ client: world.clients.dynamodb }, counted)) {
    units += page.ConsumedCapacity?.CapacityUnits ?? 0;
    scanned += page.ScannedCount ?? 0;
    pages += 1;
    if (pages === SCANNED_PAGES) return (units / scanned) * rows;
  }
  return units;
}
