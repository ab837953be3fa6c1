import type { SQSEvent } from 'aws-lambda';
import { groupsOf } from '../../../src/core/model/collections.ts';
import type { BulkReceipt } from '../../../src/local/providers/ses/bulk-mails.ts';
import type { Benchmark } from '../benchmark.ts';
import { inTurns, type Measurement, median, REFERENCE_NOTE, toReference } from '../figure.ts';
import { expectNoFailures, type MeasuredFunction } from '../setup/function.ts';
import { eventOf, queueAt } from '../setup/lanes.ts';
import { type Meter, startMeter } from '../setup/meter.ts';
import { duplicatesIn, type NewsletterWorld, POST_NOTE, withMembers } from '../setup/newsletter.ts';
import { singleCalls } from '../setup/world.ts';

const MEMBERS = 5_000;
const EMAIL = 'usage';
/** SES's rate decides how often the budget is asked, and whether calls are full. */
const PER_SECOND = 500;

/** Budget (docs/architecture.md): what DynamoDB charges for a recipient and for what SES tells of it. */
export const newsletterUsage: Benchmark = {
  name: 'newsletter-usage',
  describes: 'write units of a recipient of a newsletter, and of its events',
  run: (context) =>
    withMembers(
      context,
      { name: 'newsletter-usage', members: MEMBERS, limits: { per_second: PER_SECOND } },
      async (newsletters) => {
        const meter = await startMeter(newsletters.world, 'dynamodb');
        const metered = { services: { dynamodb: meter.url } };
        context.step(`newsletter-usage: ${MEMBERS} recipients prepared and sent at ${PER_SECOND} a second`);
        await newsletters.prepared(EMAIL, newsletters.start('newsletter-prepare', metered));
        const prepared = meter.read();
        await newsletters.sent(EMAIL, newsletters.start('newsletter-send', metered));
        const sent = meter.read();
        const receipts = await newsletters.receipts(EMAIL);
        if (receipts.length !== MEMBERS) throw new Error(`Of ${MEMBERS} members ${receipts.length} got the mail`);
        context.step(`newsletter-usage: ${2 * MEMBERS} events`);
        return [
          {
            id: 'newsletter.write_units.recipient',
            what: 'write units of a recipient, prepared to submitted',
            figure: (prepared.write_units + sent.write_units) / MEMBERS,
            unit: 'WU',
            budget: { max: 0.3 },
            note: `${MEMBERS.toLocaleString('en')} recipients, ${POST_NOTE}; the budget of e-mail and the email's own rows included`,
            details: {
              'WU to prepare': prepared.write_units / MEMBERS,
              'WU to send': sent.write_units / MEMBERS,
              'RU to prepare': prepared.read_units / MEMBERS,
              'RU to send': sent.read_units / MEMBERS,
            },
          },
          {
            id: 'newsletter.duplicates',
            what: 'recipients that got a newsletter twice',
            figure: duplicatesIn(receipts),
            unit: '',
            budget: { max: 0 },
          },
          ...(await eventWrites(newsletters, receipts, meter, newsletters.start('newsletter-events', metered))),
        ];
      },
    ),
};

/** Events of one batch that an invocation finds together: SQS collects them for seconds. */
const TOGETHER = 20;
const ALONE = 200;

async function eventWrites(
  { world }: NewsletterWorld,
  mails: readonly BulkReceipt[],
  meter: Meter,
  events: MeasuredFunction,
): Promise<Measurement[]> {
  const { arn } = queueAt(world, world.planOf('newsletter-events').name);
  const units = async (event: string, groups: readonly (readonly BulkReceipt[])[]) => {
    meter.read();
    const { results } = await events.run(groups.map((group) => eventOfMails(event, group, arn)));
    expectNoFailures(results);
    return meter.read().write_units;
  };
  const byBatch = [...Map.groupBy(mails, ({ tags }) => tags['chunk']?.split('-')[0] ?? '').values()];
  const together = byBatch.flatMap((batch) => groupsOf(batch, TOGETHER));
  const alone = groupsOf(mails.slice(0, ALONE), 1);
  const sends = await units('Send', together);
  const deliveries = await units('Delivery', together);
  const reads = (await units('Open', alone)) + (await units('Click', alone));
  return [
    {
      id: 'newsletter.write_units.delivery_event',
      what: 'write units of a delivery event',
      figure: deliveries / MEMBERS,
      unit: 'WU',
      budget: { max: 0.2 },
      note: `${TOGETHER} of a batch come together`,
      details: { 'WU of an event Send': sends / MEMBERS },
    },
    {
      id: 'newsletter.write_units.open',
      what: 'write units of an open or a click',
      figure: reads / (2 * ALONE),
      unit: 'WU',
      budget: { max: 1.2 },
      note: 'each comes alone',
    },
  ];
}

/** An invocation of the function of newsletter events, with messages as the rules of EventBridge make them. */
function eventOfMails(event: string, mails: readonly Pick<BulkReceipt, 'tags'>[], queueArn: string): SQSEvent {
  const at = new Date().toISOString();
  const bodies = mails.map(({ tags: { email_id, chunk, n } }) => ({ version: 1, event, at, email_id, chunk, n }));
  return eventOf(bodies, queueArn);
}

const WARM_UP = 1;
const ROUNDS = 3;

/**
 * Budget (docs/architecture.md): the CPU of the two functions for a recipient. Stand-ins and SES run in other
 * processes.
 */
export const newsletterCpu: Benchmark = {
  name: 'newsletter-cpu',
  describes: 'CPU of a recipient of a newsletter, prepared and sent by the SES client',
  run: (context) =>
    withMembers(
      context,
      // Nothing waits for the rate: the time of a pause is no work.
      { name: 'newsletter-cpu', members: MEMBERS, limits: { per_second: 1_000_000, per_day: -1 } },
      async (newsletters) => {
        const prepare = newsletters.start('newsletter-prepare');
        const send = newsletters.start('newsletter-send');
        const candidates = {
          prepare: async (round: number) => (await newsletters.prepared(`cpu-${round}`, prepare)).cpu_us / MEMBERS,
          call: await singleCalls(newsletters.world, 1_500),
          send: async (round: number) => (await newsletters.sent(`cpu-${round}`, send)).cpu_us / MEMBERS,
        };
        const step = (round: string) => context.step(`newsletter-cpu: ${round}, ${MEMBERS} recipients`);
        const samples = await inTurns(candidates, { warmUp: WARM_UP, rounds: ROUNDS, step });
        const [prepared, sent] = [toReference(samples.prepare, samples.call), toReference(samples.send, samples.call)];
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
              'µs, a single GetItem': median(samples.call),
            },
          },
        ];
      },
    ),
};

const PREPARED = 100_000;

/** Budget (docs/architecture.md): how long a preparation takes, and how much memory the function needs for it. */
export const newsletterPreparation: Benchmark = {
  name: 'newsletter-preparation',
  describes: 'time and memory to prepare a newsletter for 100,000 members',
  run: (context) =>
    withMembers(context, { name: 'newsletter-preparation', members: PREPARED }, async (newsletters) => {
      const prepare = newsletters.start('newsletter-prepare', { heapLimited: true });
      context.step(`newsletter-preparation: ${PREPARED.toLocaleString('en')} recipients`);
      const { times_ms, cpu_us } = await newsletters.prepared('preparation', prepare);
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
          figure: prepare.memory(),
          unit: 'MB',
          budget: { max: 256 },
        },
      ];
    }),
};
