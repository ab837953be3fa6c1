import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { memberItem } from '../../../src/adapters/dynamodb/newsletter/member-items.ts';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import { createMemberSealing } from '../../../src/adapters/recipient/member-sealing.ts';
import { createDataKeyStore, createLocalKeyWrap } from '../../../src/adapters/sealing/data-keys.ts';
import { createDataKeys, createSealer } from '../../../src/adapters/sealing/sealer.ts';
import { createNewsletterQueues } from '../../../src/adapters/sqs/newsletter-queues.ts';
import { publishEmail } from '../../../src/core/newsletter/lifecycle/publish.ts';
import type { Email } from '../../../src/core/newsletter/model/email.ts';
import { DEFAULT_JOB_LIMITS } from '../../../src/core/newsletter/model/job-limits.ts';
import { MEMBER_STATUSES } from '../../../src/core/newsletter/model/member.ts';
import type { AwsClients } from '../../../src/local/emulator/aws-clients.ts';
import { ReceivedLog } from '../../../src/local/providers/received-log.ts';
import type { BulkReceipt } from '../../../src/local/providers/ses/bulk-mails.ts';
import type { SesLimits } from '../../../src/local/providers/ses/sending-limits.ts';
import { startSimulatedSes } from '../../../src/local/providers/ses/simulated-ses.ts';
import { prepareSecrets } from '../../../src/local/runtime/secrets-file.ts';
import { createMemoryDataKeys } from '../../simulation/twins/pipeline-state.ts';
import type { BenchContext } from '../benchmark.ts';
import { type DeployedFunctions, deployedFunctions, type MeasuredFunction, variableOf } from './function.ts';
import { drain, queueAt } from './lanes.ts';
import { bodyOf, importTable } from './rows.ts';
import { inWorld, NOWHERE, type StartOptions, type World } from './world.ts';

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
export const POST = `# News\n\nDear {name, "reader"},\n\n${bodyOf(20_000)}`;
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

export type NewsletterWorld = Awaited<ReturnType<typeof newsletterWorld>>;

/** Runs a benchmark in a world of its own with many members. */
export async function withMembers<T>(
  context: BenchContext,
  { name, members, limits }: { readonly name: string; readonly members: number; readonly limits?: Partial<SesLimits> },
  run: (world: NewsletterWorld) => Promise<T>,
): Promise<T> {
  const { dataDir, storeKeys } = await importMembers(context, name, members);
  const inside = async (world: World) => {
    await storeKeys(world.clients.dynamodb, newsletterNames(world).data_keys);
    return run(await newsletterWorld(world, limits));
  };
  return inWorld(context, inside, dataDir);
}

/** A world with members, in which emails are sent to the local SES by the deployed functions. */
async function newsletterWorld(world: World, limits: Partial<SesLimits> = {}) {
  // Events are made by the cases that measure them.
  const ses = await startSimulatedSes(NOWHERE, new ReceivedLog(), async () => {}, { limits });
  world.until('SES', () => ses.close());
  const names = newsletterNames(world);
  const emails = createEmailStore(world.clients.dynamodb, names.emails, () => new Date());
  const handled = async (email_id: string, url: string, fn: MeasuredFunction, done: (email: Email) => boolean) => {
    const work = await drain(world.clients.sqs, queueAt(world, url.split('/').at(-1) ?? ''), fn);
    const email = await emails.read(email_id);
    if (email === undefined || !done(email)) {
      throw new Error(`The email ${email_id} is ${email?.status ?? 'missing'}: ${email?.error}`);
    }
    return work;
  };
  return {
    world,
    start: (service: string, options: StartOptions = {}) =>
      world.start(service, { ...options, services: { ses: ses.url, ...options.services } }),
    /** Publishes an email, and gives its messages to the function that prepares: count, and start. */
    async prepared(email_id: string, prepare: MeasuredFunction) {
      await publish(email_id, names, world.clients);
      return handled(email_id, names.prepare, prepare, ({ prepared }) => prepared !== undefined);
    },
    /** Gives the messages of batches to the function that sends, until the email has ended. */
    sent: (email_id: string, send: MeasuredFunction) =>
      handled(email_id, names.send, send, ({ status }) => status === 'submitted'),
    receipts: (email_id: string) => receiptsOf(email_id, ses.url),
  };
}

/** What a local SES accepted of an email. */
export async function receiptsOf(email_id: string, ses: string): Promise<BulkReceipt[]> {
  const answer = await fetch(`${ses}/_bulk?email_id=${email_id}`);
  return (await answer.json()) as BulkReceipt[];
}

/** Mails that somebody got once too often. */
export const duplicatesIn = (receipts: readonly BulkReceipt[]): number =>
  receipts.length - new Set(receipts.map(({ to }) => to)).size;

/** Makes a data directory with many members: putting them one by one would take minutes. */
export async function importMembers(context: BenchContext, name: string, count: number) {
  context.step(`${name}: ${count.toLocaleString('en')} members are made`);
  const secretsFile = join(context.home, name, 'secrets.json');
  prepareSecrets(secretsFile, NOWHERE);
  const { members } = newsletterNames(deployedFunctions(context.stack));
  const { sealing, storeKeys } = memberSealing(secretsFile);
  async function* items(): AsyncGenerator<Item> {
    const at = new Date().toISOString();
    for (let i = 0; i < count; i++) yield memberItem(await memberOf(i, at, sealing), Date.parse(at));
  }
  return { dataDir: await importTable(context, name, members, items()), storeKeys };
}

/**
 * Seals members before there is a table to store them in.
 * @param secretsFile of the functions that read the members
 * @returns the sealing; and what stores the data keys that they were sealed with
 */
export function memberSealing(secretsFile: string) {
  const secrets: Readonly<Record<string, string>> = JSON.parse(readFileSync(secretsFile, 'utf8'));
  const memory = createMemoryDataKeys();
  const made: Parameters<typeof memory.add>[] = [];
  const add: typeof memory.add = (...key) => {
    made.push(key);
    return memory.add(...key);
  };
  const wrap = createLocalKeyWrap(async () => Buffer.from(secrets['recipient_key'] ?? '', 'base64'));
  const keys = createDataKeys({ store: { find: memory.find, add }, wrap, clock: () => new Date() });
  return {
    sealing: createMemberSealing(createSealer(keys), async () => secrets['recipient_hash_key'] ?? ''),
    async storeKeys(client: DynamoDBClient, table: string) {
      const store = createDataKeyStore(client, table);
      for (const key of made) await store.add(...key);
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
