import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createMemoryDataKeys } from '../../simulation/twins/pipeline-state.ts';
import { createEmailStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { memberItem } from '../../src/adapters/dynamodb/newsletter/member-items.ts';
import { createDataKeyStore } from '../../src/adapters/dynamodb/sealing/data-key-store.ts';
import { putItems } from '../../src/adapters/dynamodb/table/calls.ts';
import type { Item } from '../../src/adapters/dynamodb/table/item.ts';
import { createMemberSealing } from '../../src/adapters/recipient/member-sealing.ts';
import { createDataKeys, type KeyContext } from '../../src/adapters/sealing/data-keys.ts';
import { createSealer } from '../../src/adapters/sealing/sealer.ts';
import { createLocalKeyWrap } from '../../src/adapters/secrets/secrets-file.ts';
import { createNewsletterQueues } from '../../src/adapters/sqs/newsletter-queues.ts';
import { publishEmail } from '../../src/core/newsletter/lifecycle/publish.ts';
import type { Email } from '../../src/core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../src/core/newsletter/model/job-limits.ts';
import { MEMBER_STATUSES } from '../../src/core/newsletter/model/member.ts';
import type { AwsClients } from '../../src/local/emulator/aws-clients.ts';
import { ReceivedLog } from '../../src/local/providers/received-log.ts';
import type { BulkReceipt } from '../../src/local/providers/ses/bulk-mails.ts';
import type { SesLimits } from '../../src/local/providers/ses/sending-limits.ts';
import { startSimulatedSes } from '../../src/local/providers/ses/simulated-ses.ts';
import { prepareSecrets } from '../../src/local/runtime/secrets-file.ts';
import type { BenchContext } from '../benchmark.ts';
import type { SeriesOutcome } from '../processes/function-process.ts';
import { type DeployedFunctions, deployedFunctions, type MeasuredFunction, variableOf } from './function.ts';
import { importTable } from './imported-table.ts';
import { drain, queueAt } from './lanes.ts';
import { bodyOf, chunks } from './rows.ts';
import { NOWHERE, type StartOptions, type World } from './world.ts';

export const TENANT = 'TENANT001';
const NEWSLETTER = 'weekly';

/** The names of the tables and queues of newsletters, from the environment of the function that prepares. */
export function newsletterNames({ planOf }: Pick<DeployedFunctions, 'planOf'>) {
  const plan = planOf('newsletter-prepare');
  return {
    emails: variableOf(plan, 'EMAILS_TABLE'),
    batches: variableOf(plan, 'EMAIL_BATCHES_TABLE'),
    recipients: variableOf(plan, 'EMAIL_RECIPIENTS_TABLE'),
    members: variableOf(plan, 'MEMBERS_TABLE'),
    data_keys: variableOf(plan, 'DATA_KEYS_TABLE'),
    prepare: variableOf(plan, 'NEWSLETTER_PREPARE_QUEUE'),
    send: variableOf(plan, 'NEWSLETTER_SEND_QUEUE'),
  };
}

type NewsletterNames = ReturnType<typeof newsletterNames>;

/** A post of the length of a usual newsletter, with merge fields. */
const POST = `# News\n\nDear {name, "reader"},\n\n${bodyOf(20_000)}`;
export const POST_NOTE = 'a post of 20 KB with a name';

/** Publishes an email as the API does, after its checks. */
export function publish(email_id: string, names: NewsletterNames, { dynamodb, sqs }: AwsClients): Promise<Email> {
  const clock = () => new Date();
  const times = { created_at: clock().toISOString(), updated_at: clock().toISOString() };
  const from = 'Weekly <news@example.com>';
  const newsletter = { tenant_id: TENANT, newsletter_id: NEWSLETTER, name: 'Weekly', from, ...times };
  const content = { subject: 'The week, {name, "reader"}', body: POST, format: 'markdown', newsletter } as const;
  return publishEmail(
    { email_id, request_hash: email_id, tenant_id: TENANT, content },
    {
      emails: createEmailStore(dynamodb, names.emails, clock),
      queues: createNewsletterQueues(sqs, names),
      schedules: { create: async () => {}, remove: async () => {} },
      clock,
      limits: DEFAULT_JOB_LIMITS,
    },
  );
}

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
  const ses = await startSimulatedSes(NOWHERE, new ReceivedLog(), async () => {}, { limits });
  world.until('SES', () => ses.close());
  const names = newsletterNames(world);
  const emails = createEmailStore(world.clients.dynamodb, names.emails, () => new Date());
  const handled = async (email_id: string, url: string, fn: MeasuredFunction, done: (email: Email) => boolean) => {
    const outcomes: SeriesOutcome[] = [];
    const run: MeasuredFunction['run'] = async (events) => {
      const outcome = await fn.run(events);
      outcomes.push(outcome);
      return outcome;
    };
    await drain(world.clients.sqs, queueAt(world, url.split('/').at(-1) ?? ''), { run });
    const email = await emails.read(email_id);
    if (email === undefined || !done(email)) {
      throw new Error(`The email ${email_id} is ${email?.status ?? 'missing'}: ${email?.error}`);
    }
    return {
      cpu_us: outcomes.reduce((sum, { cpu_us }) => sum + cpu_us, 0),
      times_ms: outcomes.flatMap(({ times_ms }) => times_ms),
      peak_rss: Math.max(...outcomes.map(({ peak_rss }) => peak_rss)),
    };
  };
  return {
    names,
    start: (service, options = {}) =>
      world.start(service, { ...options, services: { ses: ses.url, ...options.services } }),
    async prepared(email_id, prepare) {
      await publish(email_id, names, world.clients);
      return handled(email_id, names.prepare, prepare, ({ prepared }) => prepared !== undefined);
    },
    sent: (email_id, send) => handled(email_id, names.send, send, ({ status }) => status === 'submitted'),
    async receipts(email_id) {
      const answer = await fetch(`${ses.url}/_bulk?email_id=${email_id}`);
      return (await answer.json()) as BulkReceipt[];
    },
  };
}

/** Puts members into the tables of a world. */
export async function seedMembers(world: World, names: NewsletterNames, count: number): Promise<void> {
  const { items, storeKeys } = audienceOf(count, world.secretsFile);
  const members: Item[] = [];
  for await (const item of items()) members.push(item);
  for (const some of chunks(members, 25)) await putItems(world.clients.dynamodb, names.members, some);
  await storeKeys(world.clients.dynamodb, names.data_keys);
}

/** Makes a data directory with many members: putting them one by one would take minutes. */
export async function importMembers(context: BenchContext, name: string, count: number) {
  context.step(`${name}: ${count.toLocaleString('en')} members are made`);
  mkdirSync(join(context.home, name), { recursive: true });
  const secretsFile = join(context.home, name, 'secrets.json');
  prepareSecrets(secretsFile, NOWHERE);
  const { members } = newsletterNames(deployedFunctions(context.stack));
  const { items, storeKeys } = audienceOf(count, secretsFile);
  return { directory: await importTable(context, name, members, items()), secretsFile, storeKeys };
}

/**
 * Members as an import stores them, before there is a table to store them in.
 * @param secretsFile of the functions that read the members
 * @returns the items that a preparation reads, without the pointers from member_id to address; and what stores the data
 * keys that they were sealed with
 */
function audienceOf(count: number, secretsFile: string) {
  const secrets: Readonly<Record<string, string>> = JSON.parse(readFileSync(secretsFile, 'utf8'));
  const made: { readonly key: KeyContext; readonly wrapped: Uint8Array }[] = [];
  const memory = createMemoryDataKeys();
  const add: typeof memory.add = (key, wrapped, at) => {
    made.push({ key, wrapped });
    return memory.add(key, wrapped, at);
  };
  const keys = createDataKeys({
    store: { find: memory.find, add },
    wrap: createLocalKeyWrap(async () => Buffer.from(secrets['recipient_key'] ?? '', 'base64')),
    clock: () => new Date(),
  });
  const sealing = createMemberSealing(createSealer(keys), async () => secrets['recipient_hash_key'] ?? '');
  return {
    async *items(): AsyncGenerator<Item> {
      const at = new Date().toISOString();
      for (let i = 0; i < count; i++) yield memberItem(await memberOf(i, at, sealing), Date.parse(at));
    },
    async storeKeys(client: DynamoDBClient, table: string) {
      const store = createDataKeyStore(client, table);
      for (const { key, wrapped } of made) await store.add(key, wrapped, new Date());
    },
  };
}

/** Domains of mailboxes: a few of them hold most members. */
const DOMAINS = ['mail', 'mail', 'mail', 'post', 'post', 'inbox', 'office', 'school', 'works', 'home'];
const LETTERS = 'etaoinshrdlucmfwypvbgk';

/**
 * The same member for the same number, with an address, a name and ids that compress no better than those of people: the
 * size of what is stored decides what it costs.
 */
async function memberOf(i: number, at: string, sealing: ReturnType<typeof createMemberSealing>) {
  const bytes = createHash('sha256').update(String(i)).digest();
  const hex = bytes.toString('hex');
  const word = (from: number) => {
    const some = [...bytes.subarray(from, from + 4 + ((bytes[from] ?? 0) % 5))];
    return some.map((byte) => LETTERS[byte % LETTERS.length]).join('');
  };
  const [first, last] = [word(0), word(10)];
  const member_id = `M${bytes.readUInt32BE(20)}-${i}`;
  const email = `${first}.${last}${i % 97}@${DOMAINS[i % DOMAINS.length]}.example`;
  const name = [first, last].map((one) => one.charAt(0).toUpperCase() + one.slice(1)).join(' ');
  return {
    tenant_id: TENANT,
    member_id,
    member_uuid: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    status: MEMBER_STATUSES[i % MEMBER_STATUSES.length] ?? 'free',
    labels: ['imported', i % 2 === 0 ? 'even' : 'odd'],
    newsletters: [NEWSLETTER],
    created_at: at,
    updated_at: at,
    email_hash: await sealing.emailHash(TENANT, email),
    sealed_identity: await sealing.sealMember(TENANT, member_id, { email, name }),
  };
}
