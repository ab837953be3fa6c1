import { randomBytes } from 'node:crypto';
import { createMemoryDataKeys } from '../../src/adapters/memory/memory-data-keys.ts';
import { createDataKeys } from '../../src/adapters/sealing/data-keys.ts';
import { createLocalKeyWrap } from '../../src/adapters/sealing/local-key-wrap.ts';
import { createSealer, type Sealer } from '../../src/adapters/sealing/sealer.ts';
import type { Benchmark } from '../benchmark.ts';
import type { Measurement } from '../figure.ts';
import { REFERENCE_NOTE, toReference } from '../reference-machine.ts';
import { bundle } from '../setup/bundle.ts';
import { tableNames } from '../setup/table-names.ts';
import { startWorld } from '../setup/world.ts';

const TEXT = 'a@b.example';
const TEXTS = 5_000;
const BATCH = 10;
const CALLS = 500;
const ROUNDS = 4;

/**
 * What it costs to seal and to open a recipient, with the data key cached. The texts are handled in batches, in this
 * process, and a GetItem in another takes turns with them.
 */
export const sealing: Benchmark = {
  name: 'sealing',
  describes: 'size and CPU of an encrypted recipient',
  async run(context) {
    const world = await startWorld(context);
    try {
      const getItem = await world.start('send-webhook', {
        bundle: await bundle('bench/variants/get-item.ts', world.directory),
      });
      const table = tableNames(world).notification_log;
      const calls = Array.from({ length: CALLS }, () => ({ table, log_id: 'none' }));
      const sealer = newSealer();
      const sealed = await sealer.seal(ownerOf(0), TEXT);
      const samples = { seal: [] as number[], open: [] as number[], call: [] as number[] };
      for (let round = 0; round < ROUNDS; round++) {
        context.step(`sealing: round ${round + 1} of ${ROUNDS}, ${TEXTS} texts`);
        samples.call.push((await getItem.run(calls)).cpu_us / CALLS);
        samples.seal.push(await cpuOf((index) => sealer.seal(ownerOf(index), TEXT)));
        samples.open.push(await cpuOf(() => sealer.open(ownerOf(0), sealed)));
      }
      return [sizeOf(sealed), cpuFigure('seal', samples), cpuFigure('open', samples)];
    } finally {
      await world.stop();
    }
  },
};

function newSealer(): Sealer {
  const masterKey = randomBytes(32);
  const wrap = createLocalKeyWrap(async () => masterKey);
  return createSealer(createDataKeys({ store: createMemoryDataKeys(), wrap, clock: () => new Date() }));
}

function ownerOf(index: number) {
  const id = `NL-20261122-${String(index).padStart(10, '0')}`;
  return { tenant_id: 'TENANT001', purpose: 'recipient', id } as const;
}

/** Microseconds of CPU per text, of all threads. */
async function cpuOf(work: (index: number) => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let done = 0; done < TEXTS; done += BATCH) {
    await Promise.all(Array.from({ length: BATCH }, (_, index) => work(done + index)));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TEXTS;
}

function sizeOf(sealed: string): Measurement {
  return {
    id: 'sealed_size',
    what: `size of an encrypted recipient of ${TEXT.length} bytes`,
    figure: sealed.length,
    unit: 'bytes',
    budget: { max: 220 },
    note: 'tenant of 9 characters, log_id of 22; they and the id of the data key are 160 of the bytes',
  };
}

type Samples = Readonly<Record<'seal' | 'open' | 'call', readonly number[]>>;

function cpuFigure(what: 'seal' | 'open', samples: Samples): Measurement {
  // Other work of the machine can only increase the time, so the least value is the best.
  const least = Math.min(...samples[what]);
  const call = Math.min(...samples.call);
  return {
    id: `${what}_cpu`,
    what: `CPU to ${what} a recipient, key cached`,
    figure: toReference(call)(least),
    unit: 'µs',
    budget: { max: 50 },
    note: `least of ${ROUNDS} times ${TEXTS}, in batches of ${BATCH}; ${REFERENCE_NOTE}`,
    details: { 'µs, least': least, 'µs, a single GetItem': call },
  };
}
