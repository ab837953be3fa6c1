import type { SQSEvent } from 'aws-lambda';
import type { BulkReceipt } from '../../../src/local/providers/ses/bulk-mails.ts';
import type { Benchmark } from '../../benchmark.ts';
import type { Measurement } from '../../figure.ts';
import type { MeasuredFunction } from '../../setup/function.ts';
import { eventOf, expectNoFailures, queueAt } from '../../setup/lanes.ts';
import { type Meter, startMeter } from '../../setup/meter.ts';
import { type NewsletterWorld, newsletterWorld, POST_NOTE, seedMembers } from '../../setup/newsletter.ts';
import { chunks } from '../../setup/rows.ts';
import { inWorld, type World } from '../../setup/world.ts';

const MEMBERS = 5_000;
/** SES's rate decides how often the budget is asked, and whether calls are full. */
const PER_SECOND = 500;
const EMAIL = 'usage';
/** Events of one batch that an invocation finds together: SQS collects them for seconds. */
const TOGETHER = 20;
const ALONE = 200;

/** Budget (docs/architecture.md): what DynamoDB charges for a recipient and for what SES tells of it. */
export const newsletterUsage: Benchmark = {
  name: 'newsletter-usage',
  describes: 'write units of a recipient of a newsletter, and of its events',
  run: (context) =>
    inWorld(context, async (world) => {
      const meter = await startMeter(world, 'dynamodb');
      const newsletters = await newsletterWorld(world, { per_second: PER_SECOND });
      context.step(`newsletter-usage: ${MEMBERS} members`);
      await seedMembers(world, newsletters.names, MEMBERS);
      const metered = { services: { dynamodb: meter.url } };
      const prepare = await newsletters.start('newsletter-prepare', metered);
      const send = await newsletters.start('newsletter-send', metered);
      meter.read();
      context.step(`newsletter-usage: ${MEMBERS} recipients prepared and sent at ${PER_SECOND} a second`);
      const figures = await recipientWrites(newsletters, meter, { prepare, send });
      const events = await newsletters.start('newsletter-events', metered);
      context.step(`newsletter-usage: ${2 * MEMBERS} events`);
      return [...figures, ...(await eventWrites(world, newsletters, meter, events))];
    }),
};

async function recipientWrites(
  newsletters: NewsletterWorld,
  meter: Meter,
  { prepare, send }: { readonly prepare: MeasuredFunction; readonly send: MeasuredFunction },
): Promise<Measurement[]> {
  await newsletters.prepared(EMAIL, prepare);
  const prepared = meter.read();
  await newsletters.sent(EMAIL, send);
  const sent = meter.read();
  const receipts = await newsletters.receipts(EMAIL);
  if (receipts.length !== MEMBERS) throw new Error(`Of ${MEMBERS} members ${receipts.length} got the mail`);
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
      figure: receipts.length - new Set(receipts.map(({ to }) => to)).size,
      unit: '',
      budget: { max: 0 },
    },
  ];
}

async function eventWrites(
  world: World,
  { receipts }: NewsletterWorld,
  meter: Meter,
  events: MeasuredFunction,
): Promise<Measurement[]> {
  const mails = await receipts(EMAIL);
  const { arn } = queueAt(world, world.planOf('newsletter-events').name);
  const units = async (groups: readonly MailEvents[]) => {
    meter.read();
    const { results } = await events.run(eventsOf(groups, arn));
    expectNoFailures(results);
    return meter.read().write_units;
  };
  const byBatch = [...Map.groupBy(mails, ({ tags }) => tags['chunk']?.split('-')[0] ?? '').values()];
  const groups = byBatch.flatMap((batch) => chunks(batch, TOGETHER));
  const sends = await units(groups.map((group) => ({ mails: group, event: 'Send' })));
  const deliveries = await units(groups.map((group) => ({ mails: group, event: 'Delivery' })));
  const readers = mails.slice(0, ALONE);
  const opens = await units(readers.map((mail) => ({ mails: [mail], event: 'Open' })));
  const clicks = await units(readers.map((mail) => ({ mails: [mail], event: 'Click' })));
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
      figure: (opens + clicks) / (2 * ALONE),
      unit: 'WU',
      budget: { max: 1.2 },
      note: 'each comes alone',
    },
  ];
}

/** An event of SES about several mails, which one invocation finds together. */
interface MailEvents {
  readonly mails: readonly Pick<BulkReceipt, 'tags'>[];
  readonly event: 'Send' | 'Delivery' | 'Open' | 'Click';
}

/** The invocations of the function of newsletter events, with messages as the rules of EventBridge make them. */
function eventsOf(groups: readonly MailEvents[], queueArn: string): SQSEvent[] {
  return groups.map(({ mails, event }) => {
    const at = new Date().toISOString();
    const bodies = mails.map(({ tags: { email_id, chunk, n } }) => ({ version: 1, event, at, email_id, chunk, n }));
    return eventOf(bodies, queueArn);
  });
}
