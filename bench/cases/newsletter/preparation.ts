import type { Benchmark } from '../../benchmark.ts';
import { importMembers, newsletterWorld } from '../../setup/newsletter.ts';
import { heapOf, inWorld } from '../../setup/world.ts';

const MEMBERS = 100_000;
const MEGABYTE = 1024 * 1024;

/** Budget (docs/architecture.md): how long a preparation takes, and how much memory the function needs for it. */
export const newsletterPreparation: Benchmark = {
  name: 'newsletter-preparation',
  describes: 'time and memory to prepare a newsletter for 100,000 members',
  async run(context) {
    const { directory, secretsFile, storeKeys } = await importMembers(context, 'newsletter-preparation', MEMBERS);
    return inWorld(
      context,
      async (world) => {
        const newsletters = await newsletterWorld(world, {});
        await storeKeys(world.clients.dynamodb, newsletters.names.data_keys);
        const nodeOptions = heapOf(world, 'newsletter-prepare');
        const prepare = await newsletters.start('newsletter-prepare', { nodeOptions });
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
      },
      { dataDir: directory, secretsFile },
    );
  },
};
