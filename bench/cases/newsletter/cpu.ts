import type { Benchmark } from '../../benchmark.ts';
import { median, REFERENCE_NOTE, toReference } from '../../figure.ts';
import { importMembers, newsletterWorld, POST_NOTE, seedMembers } from '../../setup/newsletter.ts';
import { heapOf, inWorld, singleCalls } from '../../setup/world.ts';

const MEMBERS = 5_000;
const WARM_UP = 1;
const ROUNDS = 3;
/** Nothing waits for the rate: the time of a pause is no work. */
const PER_SECOND = 1_000_000;

/**
 * Budget (docs/architecture.md): the CPU of the two functions for a recipient. Stand-ins and SES run in other
 * processes.
 */
export const newsletterCpu: Benchmark = {
  name: 'newsletter-cpu',
  describes: 'CPU of a recipient of a newsletter, prepared and sent by the SES client',
  run: (context) =>
    inWorld(context, async (world) => {
      const newsletters = await newsletterWorld(world, { per_second: PER_SECOND, per_day: -1 });
      context.step(`newsletter-cpu: ${MEMBERS} members`);
      await seedMembers(world, newsletters.names, MEMBERS);
      const prepare = await newsletters.start('newsletter-prepare');
      const send = await newsletters.start('newsletter-send');
      const single = await singleCalls(world);
      const samples = { prepare: [] as number[], send: [] as number[], call: [] as number[] };
      for (let round = 0; round < WARM_UP + ROUNDS; round++) {
        context.step(`newsletter-cpu: round ${round + 1} of ${WARM_UP + ROUNDS}, ${MEMBERS} recipients`);
        const email_id = `cpu-${round}`;
        const singles = [await single()];
        const prepared = (await newsletters.prepared(email_id, prepare)).cpu_us / MEMBERS;
        singles.push(await single());
        const sent = (await newsletters.sent(email_id, send)).cpu_us / MEMBERS;
        singles.push(await single());
        if (round < WARM_UP) continue;
        samples.call.push(median(singles));
        samples.prepare.push(prepared);
        samples.send.push(sent);
      }
      // Each round by the GetItems around it, because a machine is not equally fast in all rounds
      // (docs/decisions/measured/cpu-and-rate.md#0125).
      const scaled = (values: readonly number[]) =>
        values.map((value, i) => toReference(samples.call[i] ?? Number.NaN)(value));
      const [prepared, sent] = [scaled(samples.prepare), scaled(samples.send)];
      return [
        {
          id: 'newsletter.cpu',
          what: 'CPU of a recipient of a newsletter, prepared and sent',
          figure: median(prepared.map((value, i) => value + (sent[i] ?? Number.NaN))),
          unit: 'µs',
          budget: { max: 150 },
          note: `median of ${ROUNDS} emails to ${MEMBERS.toLocaleString('en')} members, after ${WARM_UP} to warm up; ${POST_NOTE}; ${REFERENCE_NOTE}`,
          details: {
            'µs to prepare, scaled': median(prepared),
            'µs to send, scaled': median(sent),
            'µs to prepare, least': Math.min(...samples.prepare),
            'µs to send, least': Math.min(...samples.send),
            'µs, a single GetItem': median(samples.call),
          },
        },
      ];
    }),
};

const PREPARED = 100_000;
const MEGABYTE = 1024 * 1024;

/** Budget (docs/architecture.md): how long a preparation takes, and how much memory the function needs for it. */
export const newsletterPreparation: Benchmark = {
  name: 'newsletter-preparation',
  describes: 'time and memory to prepare a newsletter for 100,000 members',
  async run(context) {
    const { directory, secretsFile, storeKeys } = await importMembers(context, 'newsletter-preparation', PREPARED);
    return inWorld(
      context,
      async (world) => {
        const newsletters = await newsletterWorld(world, {});
        await storeKeys(world.clients.dynamodb, newsletters.names.data_keys);
        const nodeOptions = heapOf(world, 'newsletter-prepare');
        const prepare = await newsletters.start('newsletter-prepare', { nodeOptions });
        context.step(`newsletter-preparation: ${PREPARED.toLocaleString('en')} recipients`);
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
            details: { 's to count them before': counting / 1000, 'µs of CPU each, with counting': cpu_us / PREPARED },
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
