import type { Benchmark } from '../../benchmark.ts';
import { importMembers } from '../../setup/newsletter/imported-members.ts';
import { newsletterWorld } from '../../setup/newsletter/newsletter-world.ts';
import { startWorld, type World } from '../../setup/world.ts';

const MEMBERS = 100_000;
const MEGABYTE = 1024 * 1024;

/** Node's heap as Lambda limits it. */
const heapOf = (world: World) => [
  `--max-old-space-size=${Math.floor(world.functionPlan('newsletter-prepare').memoryMegabytes * 0.9)}`,
];

/** Budget (docs/architecture.md): how long a preparation takes, and how much memory the function needs for it. */
export const newsletterPreparation: Benchmark = {
  name: 'newsletter-preparation',
  describes: 'time and memory to prepare a newsletter for 100,000 members',
  async run(context) {
    const imported = await importMembers(context, 'newsletter-preparation', MEMBERS);
    const world = await startWorld(context, { dataDir: imported.directory, secretsFile: imported.secretsFile });
    const newsletters = await newsletterWorld(world, {});
    try {
      await imported.storeKeys(world.clients.dynamodb, newsletters.names.data_keys);
      const prepare = await newsletters.start('newsletter-prepare', { nodeOptions: heapOf(world) });
      context.step(`newsletter-preparation: ${MEMBERS.toLocaleString('en')} recipients`);
      const { times_ms, cpu_us, peak_rss } = await newsletters.prepared('preparation', prepare);
      const [counting = Number.NaN, preparing = Number.NaN] = times_ms;
      return [
        {
          id: 'newsletter.preparation_seconds',
          what: 'time to prepare 100,000 recipients',
          figure: preparing / 1000,
          unit: 's',
          budget: { max: 60 },
          note: 'storage is a stand-in on this machine',
          details: { 's to count them before': counting / 1000, 'µs of CPU each, with counting': cpu_us / MEMBERS },
        },
        {
          id: 'newsletter.preparation_memory',
          what: 'memory of newsletter-prepare for 100,000 recipients',
          figure: peak_rss / MEGABYTE,
          unit: 'MB',
          budget: { max: 256 },
        },
      ];
    } finally {
      await newsletters.close();
      await world.stop();
    }
  },
};
