import { createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { putItems } from '../../../src/adapters/dynamodb/table/batch.ts';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import type { Email } from '../../../src/core/newsletter/model/email.ts';
import { ReceivedLog } from '../../../src/local/providers/received-log.ts';
import type { BulkReceipt } from '../../../src/local/providers/ses/bulk-mails.ts';
import type { SesLimits } from '../../../src/local/providers/ses/sending-limits.ts';
import { startSimulatedSes } from '../../../src/local/providers/ses/simulated-ses.ts';
import type { SeriesOutcome } from '../../processes/function-process.ts';
import type { MeasuredFunction } from '../function.ts';
import { drain } from '../lambda-poller.ts';
import { queueAt } from '../lane-queue.ts';
import type { StartOptions, World } from '../world.ts';
import { audienceOf } from './audience.ts';
import { type NewsletterNames, newsletterNames, publish } from './newsletter-stack.ts';

/** Puts of one call. */
const PUTS = 25;

/** A world with members, in which emails are sent to the local SES by the deployed functions. */
export interface NewsletterWorld {
  readonly names: NewsletterNames;
  start(service: string, options?: StartOptions): Promise<MeasuredFunction>;
  /** Publishes an email, and gives its messages to the function that prepares: count, and start. */
  prepared(email_id: string, prepare: MeasuredFunction): Promise<Work>;
  /** Gives the messages of batches to the function that sends, until the email has ended. */
  sent(email_id: string, send: MeasuredFunction): Promise<Work>;
  /** What the local SES accepted. */
  receipts(email_id: string): Promise<readonly BulkReceipt[]>;
  close(): Promise<void>;
}

/** What a function needed for its messages. */
interface Work {
  /** Microseconds of CPU, of all threads. */
  readonly cpu_us: number;
  /** Milliseconds of each message, in order. */
  readonly times_ms: readonly number[];
  /** Peak of the process's resident memory since its start, in bytes. */
  readonly peak_rss: number;
}

export async function newsletterWorld(world: World, limits: Partial<SesLimits>): Promise<NewsletterWorld> {
  // Events are made by the cases that measure them.
  const ses = await startSimulatedSes('http://127.0.0.1:9', new ReceivedLog(), async () => {}, { limits });
  const names = newsletterNames(world.functionPlan('newsletter-prepare'));
  const emails = createEmailStore(world.clients.dynamodb, names.emails, () => new Date());
  const polled = (queueUrl: string) => {
    const { url, arn } = queueAt(world, queueUrl.split('/').at(-1) ?? '');
    return { client: world.clients.sqs, queueUrl: url, queueArn: arn, batchSize: 1 };
  };
  const found = async (email_id: string): Promise<Email> => {
    const email = await emails.read(email_id);
    if (email === undefined) throw new Error(`The email ${email_id} is missing`);
    return email;
  };
  return {
    names,
    start: (service, options = {}) =>
      world.start(service, { ...options, services: { ses: ses.url, ...options.services } }),
    async prepared(email_id, prepare) {
      await publish(email_id, names, world.clients);
      const work = await workOf(prepare, (fn) => drain(polled(names.prepare), fn));
      const email = await found(email_id);
      if (email.prepared === undefined) throw new Error(`The email ${email_id} is ${email.status}: ${email.error}`);
      return work;
    },
    async sent(email_id, send) {
      const work = await workOf(send, (fn) => drain(polled(names.send), fn));
      const email = await found(email_id);
      if (email.status !== 'submitted') throw new Error(`The email ${email_id} is ${email.status}: ${email.error}`);
      return work;
    },
    async receipts(email_id) {
      const answer = await fetch(`${ses.url}/_bulk?email_id=${email_id}`);
      return (await answer.json()) as BulkReceipt[];
    },
    close: () => ses.close(),
  };
}

/** Adds up what the function needs for each of its invocations. */
async function workOf(fn: MeasuredFunction, run: (fn: MeasuredFunction) => Promise<unknown>): Promise<Work> {
  const outcomes: SeriesOutcome[] = [];
  await run({
    ...fn,
    async run(events, warm_up) {
      const outcome = await fn.run(events, warm_up);
      outcomes.push(outcome);
      return outcome;
    },
  });
  return {
    cpu_us: outcomes.reduce((sum, { cpu_us }) => sum + cpu_us, 0),
    times_ms: outcomes.flatMap(({ times_ms }) => times_ms),
    peak_rss: Math.max(...outcomes.map(({ peak_rss }) => peak_rss)),
  };
}

/** Puts members into the tables of a world. */
export async function seedMembers(world: World, names: NewsletterNames, count: number): Promise<void> {
  const { dynamodb } = world.clients;
  const audience = audienceOf(count, world.secretsFile);
  let group: Item[] = [];
  for await (const item of audience.items()) {
    group.push(item);
    if (group.length < PUTS) continue;
    await putItems(dynamodb, names.members, group);
    group = [];
  }
  if (group.length > 0) await putItems(dynamodb, names.members, group);
  await audience.storeKeys(dynamodb, names.data_keys);
}
