import { readFileSync } from 'node:fs';
import { type AttributeValue, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Deployment } from '../../src/adapters/deployment/deployment.ts';
import { LACKS, newsletterQueues, ofStage, tablesOf } from '../../src/adapters/deployment/stage-parts.ts';
import type { Finding } from '../../src/application/preflight/finding.ts';
import { addPreflight, type PreflightPorts } from '../../src/cli/commands/status/preflight.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { runCommand, writingTo } from '../../src/terminal/command.ts';
import { type Operations, startOperations, storedRow } from '../support/cli/operations.ts';
import { recordingTerminal } from '../support/cli/recording-terminal.ts';
import { startTestConsole } from '../support/console.ts';

let ops: Operations;
/** The least stage, on the same tables and queues. */
let least: Deployment;
beforeAll(async () => {
  ops = await startOperations();
  const { tables, lane_queues, dead_letter_queues } = ops.deployment;
  const { api_keys: _, newsletters: __, members: ___, emails: ____, ...rest } = tables;
  const { email_batches: _____, email_recipients: ______, ...kept } = rest;
  least = {
    ...ops.deployment,
    tables: tablesOf(kept),
    lane_queues: { webhook: lane_queues.webhook },
    dead_letter_queues: ofStage(CHANNELS, { webhook: dead_letter_queues.webhook }, LACKS.channel),
    newsletter_queues: newsletterQueues(undefined),
  };
});
afterAll(() => ops.stop());

const run = (...args: string[]) => ops.run([...args, '--local'], { findDeployment: async () => least });

it.each([
  ['newsletters', ['members', 'show', 'M1', '--tenant', 'T1']],
  ['newsletters', ['senders', 'list', '--tenant', 'T1']],
  ['newsletters', ['emails', 'list', '--tenant', 'T1']],
  ['newsletters', ['emails', 'status', 'EM1']],
  ['API, and thus no keys', ['keys', 'list']],
  ['API, and thus no keys', ['keys', 'create', '--tenant', 'T1', '--scope', 'send']],
  ['channel teams', ['dlq', 'list', '--channel', 'teams']],
  ['channel teams', ['dlq', 'redrive', '--channel', 'teams', '--yes']],
  ['channel teams', ['dlq', 'drop', '--channel', 'teams', '--all', '--yes']],
])(
  'a command on a stage without the part that it needs says in one sentence that there is no %s: ops %j',
  async (part, args) => {
    const { code, out, err } = await run(...args);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err.trim().split('\n')).toEqual([
      expect.stringContaining(`This stage has no ${part}: docs/reference/configuration.md says how a stage gets it.`),
    ]);
  },
);

describe('a command on the least stage', () => {
  it('counts the lanes that are there', async () => {
    const { code, out } = await run('status', '--json');
    expect({ code, lanes: JSON.parse(out).map((one: object) => Object.values(one).slice(0, 2).join('-')) }).toEqual({
      code: 0,
      lanes: ['webhook-express', 'webhook-standard'],
    });
  });

  it('lists the dead letters of the channels that are there', async () => {
    expect(await run('dlq', 'list')).toMatchObject({ code: 0 });
  });

  it('retries what it has', async () => {
    await ops.put(storedRow('n-1', { channel: 'webhook', tenant_id: 'tenant-1' }));
    expect(await run('retry', 'n-1')).toMatchObject({ code: 0 });
    expect((await ops.take('webhook', 'standard')).map(({ log_id }) => log_id)).toEqual(['n-1']);
  });
});

it('the console on the least stage answers what is there, and says in one sentence what is not', async () => {
  const page = await startTestConsole({ ...ops, deployment: least });
  expect(await page.ok('GET /api/session')).toMatchObject({ lacks: ['newsletters', 'keys'] });
  const { channels } = await page.ok('GET /api/overview');
  expect(channels.find(({ channel }) => channel === 'webhook')).toMatchObject({ in_flight: 0 });
  for (const [route, lacks] of [
    ['GET /api/newsletters', LACKS.newsletters],
    ['GET /api/emails', LACKS.newsletters],
    ['GET /api/keys', LACKS.api],
  ] as const) {
    const { status, body } = await page.call(route, { query: { tenant: 'T1' } });
    expect({ route, status, body }).toMatchObject({ status: 404, body: { detail: lacks } });
  }
  expect(page.faults).toEqual([]);
  await page.stop();
});

describe('ops preflight', () => {
  const outputs = { NotificationLogTable: 'log' };
  const stack = { name: 'notification-retry-dev', status: 'UPDATE_COMPLETE', is_protected: false, outputs };
  const account = async () => ({ region: 'us-east-1', bootstrap: 28, concurrency: 1_000, stack });
  const found = async () => ops.deployment;
  const preflightOf = async (
    dev: object,
    ports: Partial<PreflightPorts> = {},
    findDeployment = found,
    args: readonly string[] = ['--json'],
  ) => {
    const { terminal, written } = recordingTerminal({});
    const context = { terminal, env: {}, clock: () => new Date(), findDeployment };
    const code = await runCommand(['preflight', ...args], terminal, (exitWith) => {
      const program = writingTo(terminal, new Command('ops'));
      const read = () => JSON.stringify({ context: { 'notification-retry': { stages: { dev } } } });
      addPreflight(program, { ...context, exitWith } as never, {
        account,
        leftovers: async () => [],
        ties: async () => ({ rules: [], subscribers: 0 }),
        platform: async () => ({}),
        read,
        ...ports,
      });
      return program;
    });
    const said = args.includes('--json') && written.out !== '' ? written.out : '{"findings":[]}';
    const { findings } = JSON.parse(said) as { findings: Finding[] };
    return {
      code,
      err: written.err,
      out: written.out,
      bad: findings.filter(({ state }) => state !== 'ok').map(({ says }) => says),
    };
  };

  it('lets a change pass that drops nothing that holds something', async () => {
    expect(await preflightOf({ channels: ['webhook'], newsletters: false, api: false })).toMatchObject({
      code: 0,
      err: '',
      bad: [],
    });
  });

  it('refuses one that would drop a channel with due rows, or keys', async () => {
    await ops.put(storedRow('n-2', { channel: 'teams', tenant_id: 'tenant-1' }));
    await ops.run(['keys', 'create', '--tenant', 'T1', '--scope', 'send', '--local']);
    expect(await preflightOf({ channels: ['webhook'], newsletters: false, api: false })).toMatchObject({
      code: 1,
      bad: [
        'The deployment would drop teams, which has 1 rows or dead letters.',
        'The deployment would delete the API keys of producers.',
      ],
    });
  });

  it.each([
    [['-c', 'notification-retry.channels=["webhook"]'], {}],
    [['--context', 'notification-retry.channels=["webhook"]', '-c', 'stage=dev'], { channels: ['teams', 'webhook'] }],
  ])('judges what the command line changes of cdk.json, as cdk deploy does: %j', async (args, more) => {
    const dev = { newsletters: false, ...more };
    const { code, bad } = await preflightOf(dev, {}, found, ['--json', ...args]);
    expect({ code, bad }).toEqual({
      code: 1,
      bad: ['The deployment would drop teams, which has 1 rows or dead letters.'],
    });
    expect(await preflightOf({ channels: ['teams', 'webhook'], newsletters: false })).toMatchObject({ code: 0 });
  });

  it('reads an override in the context of cdk.json, too', async () => {
    const stages = { dev: { newsletters: false } };
    const context = { 'notification-retry': { stages }, 'notification-retry.channels': ['webhook'] };
    const { bad } = await preflightOf({}, { read: () => JSON.stringify({ context }) });
    expect(bad).toEqual(['The deployment would drop teams, which has 1 rows or dead letters.']);
  });

  it.each([
    ['api=false', /must be stage=STAGE, or a setting such as notification-retry\.api=false/],
    ['notification-retry.api', /must be stage=STAGE/],
    ['stage=prod', /-c stage=prod is not the stage dev .*set NOTIFICATION_RETRY_STACK=notification-retry-prod/],
  ])('refuses -c %s by name', async (given, says) => {
    const { code, err } = await preflightOf({}, {}, found, ['--json', '-c', given]);
    expect({ code, err: err.replace(/\s+/g, ' ') }).toEqual({ code: 2, err: expect.stringMatching(says) });
  });

  it('refuses channels that are no list', async () => {
    const { code, err } = await preflightOf({}, {}, found, ['--json', '-c', 'notification-retry.channels=webhook']);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('channels must be a list') });
  });

  it('counts no key that is revoked', async () => {
    const { out } = await ops.run(['keys', 'list', '--json', '--local']);
    for (const { key_id } of JSON.parse(out).keys) await ops.run(['keys', 'revoke', key_id, '--local']);
    expect(await preflightOf({ channels: ['teams', 'webhook'], newsletters: false, api: false })).toMatchObject({
      code: 0,
      bad: [],
    });
  });

  it('reads nothing of a stack that is not deployed yet', async () => {
    const created = { ...stack, status: 'CREATE_IN_PROGRESS', outputs: {} };
    const bare = async () => ({ ...(await account()), stack: created });
    const findDeployment = async () => {
      throw new Error('The stack lacks outputs.');
    };
    expect(await preflightOf({}, { account: bare }, findDeployment)).toMatchObject({
      code: 0,
      bad: ["SES's account could not be read.", 'notification-retry-dev is CREATE_IN_PROGRESS.'],
    });
  });

  it('needs no stack and no rights to say that AWS cannot be asked', async () => {
    const refused = async () => ({ region: 'us-east-1', refused: 'Could not load credentials from any providers' });
    expect(await preflightOf({}, { account: refused })).toMatchObject({
      code: 1,
      bad: ['AWS cannot be asked: Could not load credentials from any providers.'],
    });
  });

  it('lists what a failed stack has left', async () => {
    const leftovers = async () => [{ what: 'The table notification-retry-dev-Log.', remove: 'aws dynamodb …' }];
    expect(await preflightOf({}, { leftovers }, found, ['--json', '--leftovers'])).toMatchObject({
      code: 0,
      bad: ['The table notification-retry-dev-Log.'],
    });
  });

  it('says what a stage that has sent newsletters, and still sends, would lose', async () => {
    const item = { email_id: { S: 'EM1' }, part: { S: 'email' } };
    const put = (more: Record<string, AttributeValue>) =>
      ops.dynamodb.send(new PutItemCommand({ TableName: ops.tables.emails, Item: { ...item, ...more } }));
    await put({});
    const links = 'The unsubscribe links of all newsletters sent so far would answer 404.';
    const noSes = "SES's account could not be read.";
    expect(await preflightOf({ newsletters: 'data' })).toMatchObject({ code: 0, bad: [noSes, links] });
    expect(await preflightOf({ newsletters: false, retain: true })).toMatchObject({
      code: 1,
      bad: [
        noSes,
        links,
        'The deployment would leave behind the tables of newsletters, which hold something, and start empty when it is switched on again.',
      ],
    });
    await put({ active: { S: 'active' }, next_at: { S: '2030-01-01T00:00:00.000Z' } });
    expect(await preflightOf({ newsletters: 'data' })).toMatchObject({
      code: 1,
      bad: [noSes, 'The deployment would stop newsletters halfway: some are unfinished.'],
    });
  });

  it('prints for people what a new account lacks: a line each, and no marks of colours in it', async () => {
    const ses = { production: false, sending: true, per_day: 200, knows_sender: true };
    const account = async () => ({ region: 'us-east-1', bootstrap: 0, concurrency: 10, ses });
    const { code, out } = await preflightOf({}, { account }, found, []);
    const lines = out.split('\n').filter((line) => /refused|warning/.test(line));
    expect({ code, checks: lines.map((line) => line.split(/ {2,}/).slice(0, 2)) }).toEqual({
      code: 1,
      checks: [
        ['bootstrap', 'refused'],
        ['lambda', 'refused'],
        ['ses', 'warning'],
      ],
    });
    expect(out).not.toContain('\\u001b');
  });

  it('reads what others have tied to the outcomes and alarms of the stage', async () => {
    const OutcomesFailures = ops.deployment.dead_letter_queues.slack;
    const ties = async ({ AlertsTopic }: Readonly<Record<string, string>>) => ({
      rules: ['billing'],
      subscribers: AlertsTopic === 'topic' ? 1 : 0,
    });
    const whole = {
      ...stack,
      outputs: { ...outputs, OutcomesFailures, AlertsTopic: 'topic', ConsoleUrl: 'https://x' },
    };
    const ports = { ties, account: async () => ({ ...(await account()), stack: whole }) };
    const wanted = { channels: ['teams', 'webhook'], newsletters: 'data' };
    const { bad } = await preflightOf({ ...wanted, monitoring: 'off' }, ports);
    expect(bad.slice(-3)).toEqual([
      'The deployment would delete the bus of outcomes, to which rules listen: billing.',
      '1 subscribers would get no alarms and notices any more.',
      'The console would be gone, and with a user pool of the stack everybody who signs in to it.',
    ]);
    const kept = await preflightOf({ ...wanted, outcomes: true, console: { issuer: 'https://x' } }, ports);
    expect(kept.bad.filter((says) => /bus|subscribers|console/.test(says))).toEqual([]);
  });

  it.each([
    ['has not the stage', () => '{}', 'cdk.json has no stage dev.'],
    ['is not there', () => readFileSync('nowhere/cdk.json', 'utf8'), 'There is no file cdk.json.'],
    ['is not JSON', () => '{', 'cdk.json is not JSON.'],
  ])('says what a cdk.json would have to be that %s', async (_, read, says) => {
    const { code, err } = await preflightOf({}, { read });
    const remedy = 'run it in the folder of that CDK app, with NOTIFICATION_RETRY_STACK=notification-retry-STAGE.';
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(remedy) });
    expect(err).toContain(`${says} preflight reads`);
    expect(err).toContain('--template cdk.out/STACK.template.json');
  });

  it('names a newsletter that the stage lets nobody send as it is written', async () => {
    const tenant = ['--tenant', 'T1', '--local'];
    await ops.run(['senders', 'allow', 'NEWS@example.com', ...tenant]);
    await ops.run(['newsletters', 'create', 'weekly', '--name', 'W', '--from', 'W <News@example.com>', ...tenant]);
    const judged = async (senders: unknown) =>
      (await preflightOf({ senderAddress: 'no@example.com', newsletter: { senders } })).bad.filter((says) =>
        says.includes('weekly'),
      );
    expect(await judged(['news@example.com'])).toEqual([
      'SES may refuse weekly of T1, which is from News@example.com: newsletter.senders has news@example.com.',
    ]);
    expect(await judged(['News@EXAMPLE.com'])).toEqual([]);
    expect(await judged([]), 'every address at the domain of the stage').toEqual([]);
  });
});
