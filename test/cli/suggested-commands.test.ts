import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { emailAccess } from '../../src/application/emails/email-access.ts';
import { deadRow, type Operations, startOperations, storedRow } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';
import { startLoopback } from '../support/loopback.ts';
import { batchRow, chunkState, emailContent, emailRow, recipient } from '../support/newsletter/job-rows.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

/**
 * Every line for the shell that a document, a help text, a screen, a message or an error suggests is run here, on things
 * as it speaks of, and does what it says. What a document or a help text writes is found in its text; what is composed
 * while something runs is taken from what the console's routes answer and what commands print, and each place that
 * composes one must have been met.
 */
const TENANT = 'TENANT001';

interface Suggestion {
  readonly line: string;
  readonly where: string;
}

/** Sentences that name a command without its arguments say where it is described. */
const IN_WORDS =
  /^(?:(?:<command>|--help|\.\.\.|…)|(?:retry|correct|cancel|show|forget|replay|emails|members|outcomes|dlq|keys|spool|newsletters|senders)$|outcomes resend$|senders allow$|"\$@")/;
/** Run by tests of their own, as they need what this world has not. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  preflight: 'test/cli/parts.test.ts',
  leftovers: 'test/cli/commands/status/leftovers.test.ts',
  console: 'test/cli/commands/console',
  spool: 'test/client/spool',
  'verify --resume': 'test/cli/commands/verify/verify.test.ts',
  correct: 'test/application/chosen/correct.test.ts',
  restore: 'test/cli/commands/restore/restore.test.ts',
  'outcomes resend': 'test/cli/documented-rights.test.ts',
  'emails test': 'test/cli/documented-rights.test.ts',
};

const written = (text: string) =>
  [...text.matchAll(/(?:npm run (?:-s )?ops -- |(?<=`)ops (?!\(\))|^ops (?!\(\)))([^\n`]*)/gm)].map(([, line = '']) =>
    (line.split(/\\[n`]?|\s+#|\s[<>]\s|, or |\s{3,}|'\);|[')],$|\$\(|\)$|"\)|; | \| |,? then |,$/)[0] ?? '')
      .replace(/['"]$/, unbalanced)
      .trim(),
  );
const unbalanced = (quote: string, at: number, line: string) =>
  (line.slice(0, at).split(quote).length - 1) % 2 === 1 ? quote : '';

function suggestionsIn(pattern: readonly string[]): Suggestion[] {
  return globSync([...pattern], { cwd: PROJECT_ROOT })
    .filter((file) => !/CHANGELOG|docs\/decisions/.test(file))
    .flatMap((file) => {
      const lines = written(readFileSync(join(PROJECT_ROOT, file), 'utf8'));
      return lines.map((line) => ({ line, where: file }));
    })
    .filter(({ line }) => line !== '' && !IN_WORDS.test(line) && !line.includes('${'));
}

/** As bash reads a line, without expansions. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'((?:[^']|'\\'')*)'|"([^"]*)"|\S+/g)].map(
    ([word, single, double]) => single?.replaceAll("'\\''", "'") ?? double ?? word,
  );
}

let ops: Operations;
let page: TestConsole;
let reconciler: Awaited<ReturnType<typeof startLoopback>>;
let serial = 0;
const fresh = (name: string) => `${name}-${++serial}`;
const file = (name: string, text: string) => {
  const path = join(ops.directory, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
};

beforeAll(async () => {
  ops = await startOperations();
  page = await startTestConsole(ops);
  reconciler = await startLoopback();
  const counts = { scanned: 250, missed: 0, taken_in: 0, set_aside: 0, failed: 0 };
  reconciler.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(counts));
  };
  await run('newsletters', 'create', 'weekly', '--tenant', TENANT, '--name', 'W', '--from', 'n@example.com');
  await run('members', 'import', file('first.csv', 'member_id,email\nm-17,m17@example.com\n'), ...FOR_WEEKLY);
}, 60_000);
afterAll(async () => {
  await page?.stop();
  await ops?.stop();
  await reconciler?.close();
});

const FOR_WEEKLY = ['--tenant', TENANT, '--newsletter', 'weekly'];

/** What a worker makes of what is retried, while a command waits. */
const DELIVERED = { send_status: 'SUCCESS', work_queue: undefined } as const;
const retried: string[] = [];

async function run(...args: readonly string[]) {
  let passed = 0;
  const { region, credentials } = ops.deployment.clients.sqs;
  const lambda = { endpoint: reconciler.url, ...(region && { region }), ...(credentials && { credentials }) };
  const deployment = {
    ...ops.deployment,
    reconciler: 'the-reconciler',
    clients: { ...ops.deployment.clients, lambda },
  };
  return ops.run([...args.filter((one) => one !== '--local'), '--local'], {
    answer: 'y',
    input: 'someone@example.com',
    findDeployment: async () => deployment,
    clock: () => new Date(Date.now() + passed),
    async pause(ms) {
      passed += ms;
      await ops.put(...(await Promise.all(retried.splice(0).map(ops.row))).map((row) => ({ ...row, ...DELIVERED })));
      await new Promise((resolve) => setTimeout(resolve, 1));
    },
  });
}

const content = (log_id: string) =>
  ops.dynamodb.send(
    new PutItemCommand({ TableName: ops.tables.notification_content, Item: toItem({ log_id, tenant_id: TENANT }) }),
  );

async function waiting(changes = {}) {
  const log_id = fresh('due');
  await ops.put(storedRow(log_id, { tenant_id: TENANT, ...changes }));
  await content(log_id);
  return log_id;
}

async function dead(changes = {}) {
  const log_id = fresh('dead');
  const row = deadRow(log_id, { tenant_id: TENANT, ...changes });
  const { channel, priority, dead_run_id: run_id } = row;
  const body = { version: 1, log_id, tenant_id: TENANT, channel, priority, due: row.work_at, run_id };
  await ops.put({ ...row, dead_message_id: await ops.sendDeadLetter(channel, body) });
  await content(log_id);
  return log_id;
}

async function email(status: string) {
  const { deployment, dynamodb, sqs } = ops;
  const access = emailAccess({ deployment, dynamodb, sqs, clock: () => new Date(), newId: () => fresh('id') });
  const email_id = fresh('mail');
  const at = new Date().toISOString();
  const paused = status === 'paused';
  const prepared =
    status === 'pending' ? {} : { prepared: { recipients: 2, excluded: 0, excluded_by_reason: {}, batches: 1, at } };
  const common = { email_id, tenant_id: TENANT, created_at: at, updated_at: at, newsletter_id: 'weekly' };
  const row = { ...common, status: paused ? 'submitting' : status, ...prepared, ...(paused && { paused }) };
  await access.emails.create(emailRow(row as Parameters<typeof emailRow>[0]), emailContent());
  const counts = { pending: 0, submitted: 0, excluded: 0, failed: 1, uncertain: 1 };
  await access.batches.put(batchRow({ email_id, tenant_id: TENANT, status: 'failed', counts }));
  const place = { email_id, batch_id: '00000', chunk: 0 };
  const state = chunkState('uf', place);
  await access.chunks.put([
    { chunk: { ...place, tenant_id: TENANT, recipients: [recipient(0), recipient(1)] }, state },
  ]);
  return email_id;
}

const key = async () =>
  (await ops.json<{ key_id: string }>('keys', 'create', '--tenant', TENANT, '--scope', 'send')).key_id;

const EMAIL_IN: Readonly<Record<string, string>> = {
  retry: 'failed',
  resume: 'paused',
  pause: 'submitting',
  cancel: 'submitting',
  status: 'submitted',
  recipients: 'submitted',
  resolve: 'submitted',
  replace: 'pending',
};

/** The line with something real for each name that it has for one. */
async function onThings(args: readonly string[]): Promise<string[]> {
  const [command = '', sub = ''] = args;
  const made: string[] = [];
  let [place, options] = [0, false];
  for (const [i, arg] of args.entries()) {
    const value = args[i - 1]?.startsWith('--') === true && args[i - 1] !== '--';
    if (arg.startsWith('--')) options = true;
    made.push(
      value ? optionOf(args[i - 1] ?? '', arg) : arg.startsWith('-') ? arg : await thing(command, sub, arg, place++),
    );
  }
  // What is chosen by conditions must match something.
  if (options && /^(?:replay|dlq)$/.test(command)) {
    const conditions = Object.fromEntries(
      made.flatMap((arg, i) =>
        ['--channel', '--error-type', '--failure-reason'].includes(arg)
          ? [[arg.slice(2).replace('-', '_'), made[i + 1]]]
          : [],
      ),
    );
    await dead(conditions);
  }
  return made;
}

function optionOf(option: string, value: string): string {
  if (option === '--tenant' && /^(?:ID|TENANT|TENANT_ID)$/.test(value)) return TENANT;
  if (/^(?:ID|NEWSLETTER)$/.test(value)) return 'weekly';
  if (value === 'TIME') return option === '--from' ? '1d' : new Date().toISOString();
  if (/\.(?:csv|jsonl)$/.test(value)) return join(ops.directory, value);
  if (value === 'NAME') return 'Weekly';
  return value === 'ADDRESS' ? 'news@example.com' : value;
}

/** A row of the table document as another database exports it. */
const exported = (id: string) => ({
  id,
  tenant_id: TENANT,
  notification_type: 'WEBHOOK',
  recipient_address: 'https://example.com/hook',
  message_body: 'Hello',
  send_status: 'FAILED',
});

async function thing(command: string, sub: string, arg: string, place: number): Promise<string> {
  if (place === 0 || (place === 1 && /^(?:dlq|emails|keys|members|newsletters|rows|senders|outcomes)$/.test(command)))
    return arg;
  if (/\.csv$/.test(arg)) return file(arg, `member_id,email\n${fresh('m')},${fresh('a')}@example.com\n`);
  if (/\.jsonl$/.test(arg)) return join(ops.directory, arg);
  if (/\.json$/.test(arg)) return file(arg, JSON.stringify([exported(fresh('exported'))]));
  if (/\.md$/.test(arg)) return file(arg, '# Hello\n\nText');
  if (command === 'cancel') return waiting();
  if (command === 'retry') retried.push(await dead());
  if (command === 'retry') return retried.at(-1) ?? '';
  if (command === 'show' || command === 'dlq') return dead();
  if (command === 'emails') return email(EMAIL_IN[sub] ?? 'submitted');
  if (command === 'keys') return key();
  return arg === 'ID' ? 'weekly' : arg;
}

/** What a command that changes something has changed. */
async function effectOf([command = '', sub = '', id = '']: readonly string[]): Promise<void> {
  const row = async (log_id: string) => ops.row(log_id);
  if (command === 'cancel') expect(await row(sub)).toMatchObject({ failure_reason: 'CANCELLED' });
  if (command === 'retry' && !sub.startsWith('-'))
    expect((await ops.takeAll()).map(({ log_id }) => log_id)).toContain(sub);
  if (command === 'dlq' && sub === 'drop' && id !== '' && !id.startsWith('-'))
    expect((await row(id))['work_queue']).toBeUndefined();
  const email_of = async () => ops.json<{ status: string; phase: string }>('emails', 'status', id);
  if (command === 'emails' && sub === 'pause') expect((await email_of()).phase).toBe('paused');
  if (command === 'emails' && sub === 'cancel') expect(await email_of()).toMatchObject({ status: 'cancelled' });
  if (command === 'keys' && sub === 'revoke') {
    const { keys } = await ops.json<{ keys: readonly { key_id: string; state: string }[] }>('keys', 'list');
    expect(keys.find(({ key_id }) => key_id === id)).toMatchObject({ state: 'revoked' });
  }
}

/** Begins of the lines that were run, to see that nothing which composes one was missed. */
const ran = new Set<string>();
/** Lines that commands printed while they ran. */
const printed: Suggestion[] = [];

async function does({ line, where }: Suggestion): Promise<void> {
  const args = await onThings(wordsOf(line));
  const { code, out, err } = await run(...args);
  // The world has rows of every kind, those without their records included: what is named is a finding, no refusal.
  expect(args[0] === 'verify' ? [0, 1] : [0], `${where}: ops ${args.join(' ')}\n${out}${err}`).toContain(code);
  await effectOf(args);
  ran.add(line);
  printed.push(
    ...written(out + err).map((hint) => ({ line: hint, where: `printed by ${args.slice(0, 2).join(' ')}` })),
  );
}

const elsewhere = ({ line }: Suggestion) => Object.keys(ELSEWHERE).some((begin) => line.startsWith(begin));
const once = (all: readonly Suggestion[]) => [
  ...new Map(all.filter((one) => !elsewhere(one)).map((one) => [one.line.replace(/ --local\b/, ''), one])).values(),
];

const DOCUMENTED = once(
  suggestionsIn([
    '*.md',
    'docs/**/*.md',
    'lib/*.md',
    'examples/**/*.md',
    'src/**/*.{md,ts}',
    'lib/**/*.ts',
    'functions/**/*.ts',
    'console/**/*.{ts,tsx}',
  ]),
);

describe('does what it says, in a document, a help text or a message:', () => {
  it('finds them', () => expect(DOCUMENTED.length).toBeGreaterThan(70));

  it.each(DOCUMENTED.map((one) => [`ops ${one.line}`, one] as const))('%s', async (_, one) => does(one));
});

describe('does what it says, as the console shows it or a command prints it:', () => {
  it('every line of the answers, and every line printed meanwhile', async () => {
    const [dead_id, due_id] = [await dead({ integration_config_id: 'IC 1' }), await waiting()];
    const stuck = await email('failed');
    const operation = { request_id: 'request-1', kind: 'redrive', filter: { channel: 'webhook' as const }, rate: 5 };
    const made = await page.call('POST /api/operations', { body: operation });
    const answers = [
      made,
      await page.call('GET /api/overview'),
      await page.call('GET /api/dead-letters'),
      await page.call('GET /api/operations'),
      await page.call('GET /api/notifications/{log_id}', { path: { log_id: dead_id } }),
      await page.call('GET /api/notifications/{log_id}', { path: { log_id: due_id } }),
      await page.call('GET /api/notifications/{log_id}', { path: { log_id: 'nobody' } }),
      await page.call('GET /api/emails/{email_id}', { path: { email_id: stuck } }),
      await page.call('GET /api/emails/{email_id}', { path: { email_id: 'nobody' } }),
      await page.call('POST /api/verification/stop', { body: { request_id: 'request-2' } }),
    ];
    const shown = answers.flatMap(({ body }) => linesIn(body));
    expect(shown.length).toBeGreaterThan(15);
    await run('show', 'nobody');
    for (const one of once([...shown, ...printed])) await does(one);
  }, 60_000);

  it('in every place that composes one', () => {
    const lines = [...ran, ...Object.keys(ELSEWHERE)];
    const places = globSync(['src/**/*.ts', 'console/**/*.{ts,tsx}'], { cwd: PROJECT_ROOT }).flatMap((path) => {
      const text = readFileSync(join(PROJECT_ROOT, path), 'utf8');
      return [
        ...text.matchAll(/\b(?:(?:opsCommand|shellCommand)\(\s*|(?:ops|command)=\{?)['"`]([a-z]+(?: [a-z]+)?)/g),
      ].map(([, begin = '']) => begin);
    });
    expect(places.length).toBeGreaterThan(30);
    const unmet = places.filter((begin) => !lines.some((line) => line.startsWith(begin)));
    expect([...new Set(unmet)]).toEqual([]);
  });
});

function linesIn(value: unknown): Suggestion[] {
  if (typeof value === 'string') return written(value).map((line) => ({ line, where: 'an answer of the console' }));
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(linesIn) : [];
}
